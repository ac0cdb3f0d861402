"""Chooses the implementation: `reference`, `factored` or `fused`. All agree; see the laws.

By default it is `fused` on the CPU where Numba is installed and `factored` everywhere else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from threading import local
from typing import TypeVar

import torch
from torch import Tensor

from nodewise.errors import UnknownNameError
from nodewise.ops import factored, products, reference, registered
from nodewise.ops.dropconnect import DropConnect
from nodewise.ops.neighbors import Neighborhood
from nodewise.ops.sparse import Features, SparseRows, check_rows

KERNELS = ("reference", "factored", "fused")
SLOPE = 0.2
Pair = tuple[Tensor, Tensor]
AnyFeatures = TypeVar("AnyFeatures", Tensor, SparseRows, Features)


class _Wanted(local):
    """The kernel that this thread asks for. torch.compile cannot trace a ContextVar."""

    name = "fused"


_wanted = _Wanted()
# With NUMBA_DISABLE_JIT Numba interprets kernels, which have no meaning in Python.
_numba_compiles = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
_numba_is_here = find_spec("numba") is not None and _numba_compiles


@contextmanager
def use_kernel(name: str) -> Iterator[None]:
    """Compute with one implementation inside a `with` block: reference, factored or fused.

    Where `fused` is not available (no Numba, another device, half precision), `factored` is used.
    Other threads keep their choice, also those that are started inside the block.
    """
    if name not in KERNELS:
        raise UnknownNameError("kernel", name, KERNELS)
    before, _wanted.name = _wanted.name, name
    try:
        yield
    finally:
        _wanted.name = before


def kernel_for(tensor: Tensor | SparseRows) -> str:
    """The implementation that is used for this tensor."""
    name = _wanted.name
    if name == "fused" and not (
        _numba_is_here
        and tensor.device.type == "cpu"
        and tensor.dtype in (torch.float32, torch.float64)
    ):
        return "factored"
    return name


def compile_ahead(tensor: Tensor) -> None:
    """Compile the kernels of a localized model of this precision, where `fused` is used."""
    if kernel_for(tensor) == "fused":
        from nodewise.ops.fused import ahead

        ahead.compile_ahead(str(tensor.dtype).removeprefix("torch."), torch.get_num_threads())


def messages(
    x: Features,
    weight: Tensor,
    scale: Pair,
    shift: Pair,
    neighbors: Neighborhood,
    drop: DropConnect | None = None,
    slope: float = SLOPE,
) -> Tensor:
    """z_uv = W_v h_u on every edge, shape (E, H, out), in the order of `neighbors`.

    Args:
        x: Node features of the sources, dense or `SparseRows`.
        weight: W, shape (H, out, in).
        scale: Code (targets, H, bottleneck) and expand (H, in, bottleneck) of a_v.
        shift: The same of b_v.
        neighbors: The edges.
        drop: DropConnect on the entries of W_v, if any.
        slope: LeakyReLU's slope below zero, not negative.
    """
    check_rows(x, weight.size(2), neighbors.num_sources)
    kernel = kernel_for(x)
    if kernel == "reference":
        dense = x.dense() if isinstance(x, SparseRows) else x
        return reference.messages(dense, weight, scale, shift, neighbors, drop, slope)
    if kernel == "factored":
        return factored.messages(x, weight, scale, shift, neighbors, drop, slope)
    if neighbors.is_identity and drop is None and not isinstance(x, SparseRows):
        # Forming W_v costs more than one product with a single row.
        return factored.messages(x, weight, scale, shift, neighbors, drop, slope)
    rate, seed = (0.0, None) if drop is None else drop
    rows = _kernel_rows(x, weight.size(0))
    inputs = (*rows, weight, *scale, *shift, neighbors.source, neighbors.ptr, seed, rate, slope)
    z: Tensor = registered.messages(*inputs, isinstance(x, SparseRows) and x.is_crowded)
    return z


def _kernel_rows(x: Features, heads: int) -> tuple[Tensor | None, Tensor | None, Tensor]:
    """Rows in the layout of the kernels.

    Crowded rows of one head are faster dense, four at a time; with more heads, multiplying zeros
    costs more than that saves.
    """
    if not isinstance(x, SparseRows):
        return None, None, x
    if x.is_crowded and heads == 1 and not (x.is_thinned or x.values.requires_grad):
        return None, None, x.dense()
    rows = (x.crow, x.col, x.values)
    if x.is_thinned and not x.values.requires_grad:
        return registered.compact(*rows, x.width)
    return rows


def squares(scale: Pair, shift: Pair, slope: float = SLOPE) -> tuple[Tensor, Tensor]:
    """The sums of (a_v - 1)^2 and b_v^2 over all targets and features, which the penalty needs.

    Args:
        scale: Code and expand of a_v, as `messages` takes them.
        shift: The same of b_v.
        slope: LeakyReLU's slope below zero.
    """
    kernel = kernel_for(scale[0])
    if kernel == "reference":
        return reference.squares(scale, shift, slope)
    if kernel == "factored":
        return factored.squares(scale, shift, slope)
    inputs = (*scale, *shift)
    gradient = torch.is_grad_enabled() and any(part.requires_grad for part in inputs)
    a, b, *_ = registered.squares(*inputs, slope, gradient)
    return a, b


def modulate_edges(
    z: Tensor,
    scale: Pair,
    shift: Pair,
    neighbors: Neighborhood,
    slope: float = SLOPE,
    weight: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """z * a_uv + b_uv (Eqs. 8 and 9), and the sums of (a_uv - 1)^2 and b_uv^2.

    Args:
        z: Messages, shape (E, H, out).
        scale: N_a h for targets and sources, shape (nodes, H, out) each.
        shift: N_b h for targets and sources.
        neighbors: The edges.
        slope: LeakyReLU's slope below zero.
        weight: The weight of each edge in the two sums, shape (E,), or None; it gets no gradient.
    """
    if kernel_for(z) != "fused":
        return reference.modulate_edges(z, scale, shift, neighbors, slope, weight)
    back = neighbors.reverse
    out, a, b = registered.modulate_edges(
        z, *scale, *shift, neighbors.source, neighbors.ptr, back.ptr, back.edge_id, weight, slope
    )
    return out, a, b


def dropout(x: AnyFeatures, rate: float, training: bool) -> AnyFeatures:
    """x with some entries dropped and the others scaled up; x itself when not training.

    Of sparse rows, only stored entries are dropped: the others are zero in any case.
    """
    drop = DropConnect.draw(rate, training)
    if drop is None:
        return x
    if isinstance(x, SparseRows):
        return replace(x, values=_dropout(x.values, drop), is_thinned=True)
    return _dropout(x, drop)


def _dropout(x: Tensor, drop: DropConnect) -> Tensor:
    if kernel_for(x) != "fused":
        return reference.dropout(x, drop)
    out: Tensor = registered.dropout(x, drop.seed, drop.rate)
    return out


def _sum_runs(*args: Tensor | None) -> Tensor:
    out: Tensor = registered.sum_runs(*args)
    return out


def sum_neighbors(x: Tensor, weight: Tensor | None, neighbors: Neighborhood) -> Tensor:
    """The weighted sum over C_v of the sources' rows, shape (targets, ...).

    The weight is (E,), or (E, H) for rows (N, H, ...), a number for each head.
    """
    kernel = kernel_for(x)
    if kernel == "reference":
        return reference.sum_neighbors(x, weight, neighbors)
    if kernel == "factored":
        return factored.sum_neighbors(x, weight, neighbors)
    back = neighbors.reverse
    return _sum_runs(
        x, weight, neighbors.source, neighbors.ptr, back.source, back.edge_id, back.ptr
    )


def pool_rows(x: Features, weight: Tensor | None, neighbors: Neighborhood) -> Tensor:
    """As `sum_neighbors` for rows of either kind; sums of sparse rows are dense."""
    return sum_neighbors(x.dense() if isinstance(x, SparseRows) else x, weight, neighbors)


def gather_sources(x: Tensor, neighbors: Neighborhood) -> Tensor:
    """x_j: each edge's source row, shape (E, ...), with a gradient summed in order."""
    if kernel_for(x) != "fused":
        return x[neighbors.source]
    back = neighbors.reverse
    return _sum_runs(
        x, None, neighbors.source, neighbors.each, back.edge_id, back.edge_id, back.ptr
    )


def gather_targets(x: Tensor, neighbors: Neighborhood) -> Tensor:
    """x_i: each edge's target row, shape (E, ...), with a gradient summed in order."""
    if kernel_for(x) != "fused":
        return x[neighbors.target]
    number = neighbors.edge_number
    return _sum_runs(x, None, neighbors.target, neighbors.each, number, number, neighbors.ptr)


def sum_edges(messages: Tensor, weight: Tensor | None, neighbors: Neighborhood) -> Tensor:
    """The weighted sum over C_v of rows of edges; weights as in `sum_neighbors`."""
    if kernel_for(messages) != "fused":
        return reference.sum_edges(messages, weight, neighbors)
    number = neighbors.edge_number
    return _sum_runs(
        messages, weight, number, neighbors.ptr, neighbors.target, number, neighbors.each
    )


def project(x: Features, weight: Tensor) -> Tensor:
    """x weight^T for dense or sparse rows, shape (N, out); weight is (out, in)."""
    check_rows(x, weight.size(1))
    kernel = kernel_for(x)
    if not isinstance(x, SparseRows) or kernel == "reference" or x.is_crowded:
        rows = x.dense() if isinstance(x, SparseRows) else x
        if kernel == "fused":
            return products.project(rows, weight)
        return reference.project(rows, weight)
    if kernel == "factored":
        return factored.project(x, weight)
    back = x.columns
    return _sum_runs(weight.t(), x.values, x.col, x.crow, back.row, back.entry, back.ccol)
