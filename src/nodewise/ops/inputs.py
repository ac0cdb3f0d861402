"""What a message kernel is given, in one place, so that all kernels are twins by signature."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class MessageInputs(NamedTuple):
    """The tensors behind z_uv = W_v h_u.

    Attributes:
        crow: Row offsets of sparse features; None for dense ones.
        col: Columns of sparse features; None for dense ones.
        values: Values of sparse features (nnz,), or the dense matrix (sources, in).
        seen_ptr: Target v's neighbours have entries in the columns `seen[seen_ptr[v]]` to
            `seen[seen_ptr[v + 1]]`, and perhaps in fewer of them; None for all columns.
        seen: See there.
        weight: W, shape (H, out, in).
        scale_code: What the scales' generator makes of c_v, shape (targets, H, bottleneck).
        scale_expand: Its last matrix, shape (H, in, bottleneck).
        shift_code: As `scale_code`, for the shifts.
        shift_expand: As `scale_expand`, for the shifts.
        source: The source of each edge, edges sorted by target, shape (E,).
        ptr: Target v's edges are `ptr[v]` to `ptr[v + 1]`.
        seed: DropConnect's seed; None for no DropConnect.
        rate: DropConnect's rate.
        slope: LeakyReLU's slope below zero.
    """

    crow: Tensor | None
    col: Tensor | None
    values: Tensor
    seen_ptr: Tensor | None
    seen: Tensor | None
    weight: Tensor
    scale_code: Tensor
    scale_expand: Tensor
    shift_code: Tensor
    shift_expand: Tensor
    source: Tensor
    ptr: Tensor
    seed: Tensor | None
    rate: float
    slope: float


class OwnInputs(NamedTuple):
    """The tensors behind W_v h_v, every row through its own weights; see `MessageInputs`."""

    crow: Tensor | None
    col: Tensor | None
    values: Tensor
    weight: Tensor
    scale_code: Tensor
    scale_expand: Tensor
    shift_code: Tensor
    shift_expand: Tensor
    slope: float


class PoolInputs(NamedTuple):
    """The tensors behind the sums of sparse rows h_u over each C_v.

    Attributes:
        values: The entries of the rows, shape (nnz,).
        weight: The weight of each edge, shape (E,); None where all are one.
        crow: Row offsets of the rows.
        col: Columns of the rows.
        source: The source of each edge, edges sorted by target, shape (E,).
        ptr: Target v's edges are `ptr[v]` to `ptr[v + 1]`.
        out_crow: Row offsets of the sums.
        out_col: Columns of the sums.
        width: How many columns there are.
    """

    values: Tensor
    weight: Tensor | None
    crow: Tensor
    col: Tensor
    source: Tensor
    ptr: Tensor
    out_crow: Tensor
    out_col: Tensor
    width: int


class MessageGrads(NamedTuple):
    """Gradients of the differentiable inputs; `values` is None where nobody asked."""

    values: Tensor | None
    weight: Tensor
    scale_code: Tensor
    scale_expand: Tensor
    shift_code: Tensor
    shift_expand: Tensor
