"""The ops of the fused kernels: inputs, outputs and checks of each."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from nodewise.ops.op import Op
from nodewise.ops.safety import (
    Facts,
    cache_facts,
    check_dtype,
    check_edges,
    check_index,
    check_offsets,
    check_shape,
    check_sparse,
    facts,
)


class MessageInputs(NamedTuple):
    """The tensors behind z_uv = W_v h_u.

    Attributes:
        crow: Row offsets of sparse features; None for dense ones.
        col: Columns of sparse features; None for dense ones.
        values: Values of sparse features (nnz,), or the dense matrix (sources, in).
        weight: W, shape (H, out, in).
        scale_code: The scales' generator: its code of each c_v, shape (targets, H, bottleneck).
        scale_expand: Its last matrix, shape (H, in, bottleneck).
        shift_code: As `scale_code`, for the shifts.
        shift_expand: As `scale_expand`, for the shifts.
        source: The source of each edge, edges sorted by target, shape (E,).
        ptr: Target v's edges are `ptr[v]` to `ptr[v + 1]`.
        seed: DropConnect's seed; None for no DropConnect.
        rate: DropConnect's rate.
        slope: LeakyReLU's slope below zero.
        all_columns: Whether W_v is formed in all columns, instead of those that occur in C_v; of
            dense features it always is.
    """

    crow: Tensor | None
    col: Tensor | None
    values: Tensor
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
    all_columns: bool


class SquaresInputs(NamedTuple):
    """Both generators, as in `MessageInputs`, and whether the gradient is computed, too."""

    scale_code: Tensor
    scale_expand: Tensor
    shift_code: Tensor
    shift_expand: Tensor
    slope: float
    gradient: bool


class EdgeInputs(NamedTuple):
    """The tensors behind z * a_uv + b_uv.

    Attributes:
        z: Messages, shape (E, H, out).
        scale_target: N_a's target half for each target, shape (targets, H, out).
        scale_source: Its source half for each source, shape (sources, H, out).
        shift_target: As `scale_target`, of N_b.
        shift_source: As `scale_source`, of N_b.
        source: The source of each edge, edges sorted by target, shape (E,).
        ptr: Target v's edges are `ptr[v]` to `ptr[v + 1]`.
        back_ptr: Source u's edges are `back_edge[back_ptr[u]]` to `back_edge[back_ptr[u + 1]]`.
        back_edge: See there.
        weight: The weight of each edge in the sums of squares, shape (E,), or None for all ones.
        slope: LeakyReLU's slope below zero.
    """

    z: Tensor
    scale_target: Tensor
    scale_source: Tensor
    shift_target: Tensor
    shift_source: Tensor
    source: Tensor
    ptr: Tensor
    back_ptr: Tensor
    back_edge: Tensor
    weight: Tensor | None
    slope: float


class SumInputs(NamedTuple):
    """The tensors behind out[v] = sum over v's run of edges of weight[e] x[row[e]].

    Attributes:
        x: The rows, shape (N, ...).
        weight: (E,), or (E, H) for rows (N, H, ...), a number for each head; None for all ones.
        row: The row that each edge takes, shape (E,).
        ptr: The run of v is `ptr[v]` to `ptr[v + 1]`.
        back_run: The same edges sorted by `row`: the run of each.
        back_edge: Their places in the runs.
        back_ptr: Row u's edges are `back_ptr[u]` to `back_ptr[u + 1]` of these.
    """

    x: Tensor
    weight: Tensor | None
    row: Tensor
    ptr: Tensor
    back_run: Tensor
    back_edge: Tensor
    back_ptr: Tensor


class DropoutInputs(NamedTuple):
    """A tensor, and the seed and rate of its mask."""

    x: Tensor
    seed: Tensor
    rate: float


_GENERATORS = ("scale_code", "scale_expand", "shift_code", "shift_expand")
_HALVES = EdgeInputs._fields[1:5]


def _check_generators(inputs: Any, heads: int, width: int, targets: int) -> None:
    size = inputs.scale_code.size(-1)
    check_shape("scale_code", inputs.scale_code, (targets, heads, size))
    check_shape("shift_code", inputs.shift_code, (targets, heads, size))
    check_shape("scale_expand", inputs.scale_expand, (heads, width, size))
    check_shape("shift_expand", inputs.shift_expand, (heads, width, size))


def _check_messages(inputs: MessageInputs) -> None:
    check_shape("weight", inputs.weight, (None, None, None))
    (heads, _, width), targets = inputs.weight.shape, inputs.ptr.numel() - 1
    _check_generators(inputs, heads, width, targets)
    for name in ("values", *_GENERATORS):
        check_dtype(inputs.weight.dtype, name, getattr(inputs, name))
    if inputs.crow is None or inputs.col is None:
        check_shape("x", inputs.values, (None, width))
        sources = inputs.values.size(0)
    else:
        check_sparse("x", inputs.crow, inputs.col, inputs.values, width)
        sources = inputs.crow.numel() - 1
    check_edges(inputs.source, inputs.ptr, sources, targets)


def _check_squares(inputs: SquaresInputs) -> None:
    check_shape("scale_expand", inputs.scale_expand, (None, None, None))
    heads, width, _ = inputs.scale_expand.shape
    _check_generators(inputs, heads, width, inputs.scale_code.size(0))
    for name in _GENERATORS:
        check_dtype(inputs.scale_code.dtype, name, getattr(inputs, name))


def _check_edges(inputs: EdgeInputs) -> None:
    targets, sources = inputs.ptr.numel() - 1, inputs.back_ptr.numel() - 1
    edges, row = inputs.source.numel(), inputs.z.shape[1:]
    check_shape("z", inputs.z, (edges, *row))
    for name, tensor, count in zip(_HALVES, inputs[1:5], [targets, sources] * 2, strict=True):
        check_shape(name, tensor, (count, *row))
        check_dtype(inputs.z.dtype, name, tensor)
    check_edges(inputs.source, inputs.ptr, sources, targets)
    check_offsets("back_ptr", inputs.back_ptr, edges)
    check_index("back_edge", inputs.back_edge, edges, of="edges", count=edges)
    if inputs.weight is not None:
        check_shape("weight", inputs.weight, (edges,))
        check_dtype(inputs.z.dtype, "weight", inputs.weight)


def _check_sum(inputs: SumInputs) -> None:
    x, weight, row, ptr, back_run, back_edge, back_ptr = inputs
    rows, edges, runs = x.size(0), row.numel(), ptr.numel() - 1
    check_edges(row, ptr, rows, runs)
    check_offsets("back_ptr", back_ptr, edges, rows)
    check_index("back_run", back_run, runs, "runs", edges)
    check_index("back_edge", back_edge, edges, "edges", edges)
    if weight is not None:
        check_shape("weight", weight, (edges,), (edges, *x.shape[1:2]))
        check_dtype(x.dtype, "weight", weight)


class _SquaresOp(Op):
    """The sums of squares; their gradient is computed in the forward pass, where it is cheap."""

    def _register_backward(self, arguments: list[str]) -> None:
        self._traced_backward = None

    def _save(self, ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(*output[2:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*output[2:])

    def _gradients(self, backward: Any, ctx: Any, *grads: Any) -> Any:
        codes, expands = ctx.saved_tensors
        a, b = (
            (None, None) if grad is None else (2 * grad * codes[i], 2 * grad * expands[i])
            for i, grad in enumerate(grads[:2])
        )
        return *a, *b, None, None


def _squares_shapes(inputs: SquaresInputs) -> list[tuple[int, ...]]:
    if not inputs.gradient:
        return [(), (), (2, 0), (2, 0)]
    return [(), (), (2, *inputs.scale_code.shape), (2, *inputs.scale_expand.shape)]


messages = Op(
    "messages",
    MessageInputs,
    1,
    lambda i: [(i.source.size(0), *i.weight.shape[:2])],
    "values",
    ("values", "weight", *_GENERATORS),
    ("values",),
    _check_messages,
)
squares = _SquaresOp(
    "squares", SquaresInputs, 4, _squares_shapes, "scale_code", _GENERATORS, (), _check_squares
)
modulate_edges = Op(
    "modulate_edges",
    EdgeInputs,
    3,
    lambda i: [i.z.shape, (), ()],
    "z",
    EdgeInputs._fields[:5],
    (),
    _check_edges,
)
sum_runs = Op(
    "sum_runs",
    SumInputs,
    1,
    lambda i: [(i.ptr.size(0) - 1, *i.x.shape[1:])],
    "x",
    ("x", "weight"),
    ("x", "weight"),
    _check_sum,
)
dropout = Op(
    "dropout", DropoutInputs, 1, lambda i: [i.x.shape], "x", ("x",), (), lambda inputs: None
)


def compact(crow: Tensor, col: Tensor, values: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Sparse rows without the entries that dropout left as zeros; not differentiable."""
    from nodewise.ops.fused import launch

    check_sparse("x", crow, col, values, width)
    kept = launch.compact(crow.numpy(), col.numpy(), values.detach().numpy())
    new_crow, new_col, new_values = map(torch.from_numpy, kept)
    count = new_col.numel()
    cache_facts(new_crow, Facts(0, count, True, 0, count))
    cache_facts(new_col, facts("x.col", col)._replace(rises=False))
    return new_crow, new_col, new_values
