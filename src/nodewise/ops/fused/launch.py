"""From the arrays of an op to its kernels: pad, lay out, cut the work, run, sum the copies.

Every function takes the inputs of an op (`nodewise.ops.registered`) as numpy arrays and fills the
arrays of its outputs; nothing here knows torch. Inputs are trusted: `nodewise.ops.safety` has
checked sizes and indices.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.ops.fused import dropout as dropping
from nodewise.ops.fused import edges, sums
from nodewise.ops.fused import messages as sending
from nodewise.ops.fused import messages_backward as receiving
from nodewise.ops.fused import squares as squares_kernels
from nodewise.ops.fused.compact import compact as compact_kernel
from nodewise.ops.fused.layer import (
    SPARE,
    TILE,
    Blocks,
    Drop,
    Floats,
    GeneratorArrays,
    Ints,
    Layer,
    Rows,
    Scratch,
)
from nodewise.ops.fused.panels import GROUP
from nodewise.ops.fused.threads import aligned, chunks_for, run, threads_for, workspace
from nodewise.ops.hashing import WORD

# The work of a column of W_v, in multiples of the work of an entry multiplied with it.
_FORMED = 4
# The penalty: pieces of work for each generator, or a few more; columns in a panel, which with
# codes of eight in single precision stays in the innermost cache beside its gradient; numbers in a
# panel of `expand` at most, for a core's private cache.
_PIECES, _COLUMNS, _PANEL = 8, 384, 32768


def flat(array: NDArray[Any] | None, like: NDArray[Any] | None = None) -> NDArray[Any]:
    """The array flat and contiguous; for None an empty array of another array's type."""
    if array is None:
        assert like is not None
        return np.empty(0, like.dtype)
    return np.ascontiguousarray(array).reshape(-1)


def _pad_last(array: Floats, step: int) -> Floats:
    """Zeros behind the last dimension, up to a multiple of `step`, and at least one."""
    length = array.shape[-1]
    padded = max(step, length + -length % step)
    if padded == length:
        return array
    out = np.zeros((*array.shape[:-1], padded), array.dtype)
    out[..., :length] = array
    return out


# Messages ----------------------------------------------------------------------------------------


def _rows(inputs: Any) -> Rows:
    width = inputs.weight.shape[2]
    if inputs.crow is None:
        columns = np.arange(width, dtype=np.int32)
        return Rows(np.zeros(1, np.int32), columns, flat(inputs.values), width, True)
    return Rows(flat(inputs.crow), flat(inputs.col), flat(inputs.values), width, False)


def _blocks(weight: Floats) -> Blocks:
    heads, out, width = weight.shape
    lanes_last = _pad_last(weight.transpose(0, 2, 1), 8).reshape(heads, width, -1, 8)
    return Blocks(flat(lanes_last.transpose(0, 2, 1, 3)), heads, out, lanes_last.shape[2])


def _generator(code: Floats, expand: Floats, *, all_columns: bool) -> GeneratorArrays:
    code, expand = _pad_last(code, 8), _pad_last(expand, 8)
    columns_last = np.empty(0, expand.dtype)
    if all_columns:
        columns_last = flat(_pad_last(expand.transpose(0, 2, 1), 16))
    return GeneratorArrays(flat(code), flat(expand), columns_last, expand.shape[2])


def _drop(inputs: Any) -> Drop:
    number = inputs.values.dtype.type
    if inputs.seed is None:
        return Drop(0, 0, number(1))
    threshold, grow = _dropping(inputs.rate)
    return Drop(int(inputs.seed), threshold, number(grow))


def _dropping(rate: float) -> tuple[int, float]:
    """The hash below which an entry is dropped, and the factor of the others."""
    return min(round(rate * 2**32), WORD), 1 / (1 - rate)


def _layer(inputs: Any) -> Layer:
    everywhere = inputs.crow is None or inputs.all_columns
    return Layer(
        _rows(inputs),
        everywhere,
        _blocks(inputs.weight),
        _generator(inputs.scale_code, inputs.scale_expand, all_columns=everywhere),
        _generator(inputs.shift_code, inputs.shift_expand, all_columns=everywhere),
        inputs.values.dtype.type(inputs.slope),
        flat(inputs.source),
        flat(inputs.ptr),
        _drop(inputs),
    )


def _work(layer: Layer) -> int:
    """Multiply-adds of the messages, and of W_v in the active columns, roughly."""
    heads, out = layer.blocks.heads, layer.blocks.out
    formed, visits = _columns_and_visits(layer.rows, layer.ptr, all_columns=layer.all_columns)
    return int(heads * (visits.sum() * out + formed.sum() * (out + 2 * layer.scale.size)))


def _columns_and_visits(rows: Rows, ptr: Ints, *, all_columns: bool) -> tuple[Ints, Ints]:
    """For each target, how many columns are active, at most, and how many entries its edges visit.

    As if all rows were of one length: their lengths, edge by edge, would take longer to add up.
    """
    entries = rows.width if rows.dense else -(-len(rows.col) // max(1, len(rows.crow) - 1))
    visits = entries * np.diff(ptr).astype(np.int64)
    return (
        np.full_like(visits, rows.width) if all_columns else visits.clip(max=rows.width)
    ), visits


def cut_targets(rows: Rows, ptr: Ints, chunks: int, *, all_columns: bool) -> Ints:
    """The bounds of chunks of targets with about the same work, which follows from sizes alone.

    The work of a target: W_v in its active columns, and its edges' entries.
    """
    formed, visits = _columns_and_visits(rows, ptr, all_columns=all_columns)
    work = np.append(0, np.cumsum(_FORMED * formed + visits))
    shares = np.arange(chunks, dtype=np.int64) * work[-1] // chunks
    return np.append(np.searchsorted(work, shares), len(ptr) - 1)


def _scratch(layer: Layer, threads: int) -> list[Scratch]:
    """Buffers for each thread, reused by the next layer of the same shape."""
    dtype, width = layer.rows.values.dtype, layer.rows.width
    blocks = layer.blocks.heads * layer.blocks.per_head
    make = partial(_make_scratch, dtype, width, min(TILE, blocks))
    buffers: list[Scratch] = workspace.per_thread((dtype, width, blocks), threads, make)
    return buffers


def _make_scratch(dtype: np.dtype[Any], width: int, tile: int) -> Scratch:
    """Fresh buffers, all zero; kernels leave gradients zero, as they found them."""
    padded = width + -width % 16
    sizes = (*[tile * padded] * 4, *[tile * 8 * padded] * 2, SPARE)
    columns = np.zeros(padded, np.int32), np.zeros(width, np.int32)
    marks = np.zeros(-(-width // 64), np.int64)
    return Scratch._make([*(aligned(size, dtype) for size in sizes), *columns, marks, padded])


def _count_tiles(blocks: int) -> int:
    """The number of tiles: blocks by four, the remaining ones one by one."""
    return blocks // TILE + blocks % TILE


def messages(inputs: Any, outputs: Any) -> None:
    """z_uv = W_v h_u, shape (E, H, out)."""
    layer = _layer(inputs)
    work, chunks = _work(layer), chunks_for(len(layer.ptr) - 1)
    pieces = chunks * _count_tiles(layer.blocks.heads * layer.blocks.per_head)
    scratch = _scratch(layer, threads_for(pieces, work))
    bounds = cut_targets(layer.rows, layer.ptr, chunks, all_columns=layer.all_columns)
    run(sending.forward, pieces, work, layer, bounds, flat(outputs[0]), scratch=scratch)


def messages_backward(inputs: Any, grads: Any, outputs: Any) -> None:
    """Gradients of values (or None), weight, and code and expand of scales and shifts."""
    layer, (values, weight, *generators) = _layer(inputs), outputs
    work, dtype, blocks = 2 * _work(layer), layer.rows.values.dtype, layer.blocks
    groups = _count_tiles(blocks.heads) if blocks.per_head == 1 else 1
    entries = 0 if values is None else layer.rows.values.size
    table = layer.scale.expand.size
    copy = (blocks.weight.size + 2 * table + entries * groups) * dtype.itemsize
    chunks = chunks_for(len(layer.ptr) - 1, copy, groups)
    shapes = {
        "weight": (chunks, blocks.weight.size),
        "scale code": (layer.scale.code.size,),
        "scale expand": (chunks, table),
        "shift code": (layer.shift.code.size,),
        "shift expand": (chunks, table),
        "values": (chunks * groups, entries),
    }
    found = {name: workspace(name, dtype, *shape) for name, shape in shapes.items()}
    for part in found.values():
        part.fill(0)
    bounds = cut_targets(layer.rows, layer.ptr, chunks, all_columns=layer.all_columns)
    given = (layer, bounds, groups, receiving.Grads(flat(grads[0]), *map(flat, found.values())))
    scratch = _scratch(layer, threads_for(chunks * groups, work))
    run(receiving.backward, chunks * groups, work, *given, scratch=scratch)
    if values is not None:
        np.sum(found["values"], 0, out=values.reshape(-1))
    width, (_, heads, out, per_head) = layer.rows.width, blocks
    summed = found["weight"].sum(0).reshape(heads, per_head, width, 8)
    weight[...] = summed.transpose(0, 1, 3, 2).reshape(heads, 8 * per_head, width)[:, :out]
    for grad, name in zip(generators, list(shapes)[1:5], strict=True):
        total = found[name] if found[name].ndim == 1 else found[name].sum(0)
        grad[...] = total.reshape(*grad.shape[:2], layer.scale.size)[..., : grad.shape[2]]


# Squares -----------------------------------------------------------------------------------------


def panel_width(columns: int, code: int) -> int:
    """How many columns of `expand` make a panel, for codes of this size."""
    fitting = min(_COLUMNS, _PANEL // max(code, 1) // 32 * 32)
    return max(32, min(columns + -columns % 32, fitting))


def _squares_plan(code: Floats, expand: Floats) -> squares_kernels.SquaresPlan:
    (nodes, heads, length), columns = code.shape, expand.shape[1]
    padded, groups = max(4, length + -length % 4), -(-nodes // GROUP)
    parts = max(1, min(_PIECES // heads, groups // 4))
    panel = panel_width(columns, padded)
    return squares_kernels.SquaresPlan(nodes, heads, length, columns, groups, padded, panel, parts)


def squares(inputs: Any, outputs: Any) -> None:
    """Sums of (a_v - 1)^2 and b_v^2, and half their gradients by codes and expands, if asked."""
    sum_a, sum_b, codes, expands = outputs
    scale, shift = (
        (inputs.scale_code, inputs.scale_expand),
        (inputs.shift_code, inputs.shift_expand),
    )
    # Below zero a steep slope becomes a gentle one: leaky_relu(t) is -slope times that of -t with
    # the inverse slope.
    steep = abs(inputs.slope) > 1
    slope, sign = (1 / inputs.slope, -1) if steep else (inputs.slope, 1)
    factor = inputs.slope**2 if steep else 1.0
    sizes, dtype = _squares_plan(*scale), scale[0].dtype
    pieces = 2 * sizes.heads * sizes.parts
    found = np.zeros(pieces)
    parts = expands.reshape(-1)
    if sizes.parts > 1 and inputs.gradient:
        parts = workspace("squares", dtype, pieces * sizes.columns * sizes.code)
    work = (3 if inputs.gradient else 1) * 2 * scale[0].size * sizes.columns
    nodes = -(-sizes.groups // sizes.parts) * GROUP
    room = 64 + (GROUP + 2 * sizes.bottleneck) * sizes.panel + 2 * nodes * sizes.bottleneck
    scratch = list(workspace("panels", dtype, threads_for(pieces, work), room + -room % 16))
    generators = tuple((flat(sign * c if steep else c), flat(e)) for c, e in (scale, shift))
    given = (generators, sizes, dtype.type(slope), inputs.gradient, found)
    run(squares_kernels.squares, pieces, work, *given, flat(codes), parts, scratch=scratch)
    if sizes.parts > 1 and inputs.gradient:
        by_part = parts.reshape(2 * sizes.heads, sizes.parts, -1)
        np.sum(by_part, 1, out=expands.reshape(2 * sizes.heads, -1))
    with np.errstate(over="ignore"):  # as in torch, a sum beyond the precision is infinite
        sum_a[...], sum_b[...] = factor * found.reshape(2, -1).sum(1)
    if steep:
        codes *= sign * factor
        expands *= factor


# Edges and sums ----------------------------------------------------------------------------------


def _edges(inputs: Any) -> tuple[Any, ...]:
    """The first arguments of both kernels of the edge level."""
    names = ("scale_target", "scale_source", "shift_target", "shift_source")
    halves = tuple(flat(getattr(inputs, name)) for name in names)
    width, slope = prod(inputs.z.shape[1:]), inputs.z.dtype.type(inputs.slope)
    weight = flat(inputs.weight, inputs.z)
    return flat(inputs.z), halves, flat(inputs.source), flat(inputs.ptr), weight, width, slope


def modulate_edges(inputs: Any, outputs: Any) -> None:
    """z * a_uv + b_uv and the weighted sums of (a_uv - 1)^2 and b_uv^2."""
    out, sum_a, sum_b = outputs
    chunks = chunks_for(len(inputs.ptr) - 1)
    squares = np.zeros((chunks, 2))
    run(edges.forward, chunks, 8 * out.size, chunks, *_edges(inputs), flat(out), squares)
    with np.errstate(over="ignore"):  # the loop says which loss is infinite
        sum_a[...], sum_b[...] = squares.sum(0)


def modulate_edges_backward(inputs: Any, grads: Any, outputs: Any) -> None:
    """Gradients of z and of the four halves."""
    z, scale_target, scale_source, shift_target, shift_source = outputs
    grad_out, *of_squares = grads
    on_edges = [workspace(name, z.dtype, z.size) for name in ("on scale", "on shift")]
    scale_target.fill(0)
    shift_target.fill(0)
    chunks = chunks_for(len(inputs.ptr) - 1)
    found = (flat(z), *on_edges, flat(scale_target), flat(shift_target))
    given = (*_edges(inputs), flat(grad_out), np.array(of_squares, z.dtype), found)
    run(edges.backward, chunks, 16 * z.size, chunks, *given)
    for rows, out in zip(on_edges, (scale_source, shift_source), strict=True):
        _weighted_sum(rows.reshape(z.shape), None, inputs.back_edge, inputs.back_ptr, out)


def _weighted_sum(x: Floats, weight: Floats | None, index: Ints, ptr: Ints, out: Floats) -> None:
    """out[v] = sum over v's run of weight[e] x[index[e]]; the weight is (E,) or (E, H)."""
    chunks, width = chunks_for(len(ptr) - 1), prod(x.shape[1:])
    heads = 1 if weight is None else prod(weight.shape[1:])
    given = (flat(x), flat(index), flat(weight, x), flat(ptr), heads, width, flat(out))
    run(sums.weighted, chunks, width * index.size, chunks, *given)


def sum_runs(inputs: Any, outputs: Any) -> None:
    """out[v] = sum over v's run of weight[e] x[row[e]]."""
    _weighted_sum(inputs.x, inputs.weight, inputs.row, inputs.ptr, outputs[0])


def sum_runs_backward(inputs: Any, grads: Any, outputs: Any) -> None:
    """Gradients of x and of the weight, each where it is needed."""
    (grad,), (of_x, of_weight) = grads, outputs
    if of_x is not None:
        weight = None if inputs.weight is None else inputs.weight[inputs.back_edge]
        _weighted_sum(grad, weight, inputs.back_run, inputs.back_ptr, of_x)
    if of_weight is not None:
        chunks, width = chunks_for(len(inputs.ptr) - 1), prod(inputs.x.shape[1:])
        heads = prod(of_weight.shape[1:])
        given = (flat(inputs.x), flat(grad), flat(inputs.row), flat(inputs.ptr), heads, width)
        run(sums.dots, chunks, width * inputs.row.size, chunks, *given, flat(of_weight))


# Dropout -----------------------------------------------------------------------------------------


def dropout(inputs: Any, outputs: Any) -> None:
    """x without the dropped entries, the others times 1 / (1 - rate)."""
    _drop_entries(inputs, inputs.x, outputs[0])


def dropout_backward(inputs: Any, grads: Any, outputs: Any) -> None:
    """The same mask on the gradient."""
    _drop_entries(inputs, grads[0], outputs[0])


def _drop_entries(inputs: Any, x: Floats, out: Floats) -> None:
    chunks, (threshold, grow) = chunks_for(x.size // 8), _dropping(inputs.rate)
    how = (int(inputs.seed), threshold, x.dtype.type(grow))
    run(dropping.dropout, chunks, 2 * x.size, chunks, flat(x), *how, flat(out))


def compact(crow: Ints, col: Ints, values: Floats) -> tuple[Ints, Ints, Floats]:
    """Offsets, columns and values of sparse rows, of the entries that are not zero."""
    # One more place, which the kernel overwrites after the last entry.
    kept = [np.empty(part.size + more, part.dtype) for part, more in ((crow, 0), (col, 1))]
    kept_values = np.empty(values.size + 1, values.dtype)
    run(compact_kernel, 1, 0, flat(crow), flat(col), flat(values), *kept, kept_values)
    count = int(kept[0][-1])
    return kept[0], kept[1][:count], kept_values[:count]
