"""Node-level localized messages z_uv = W_v h_u (Eqs. 4 and 6) and their gradients, on CPU lanes.

For one target node v at a time the kernels form W_v in cache, only in the columns that occur in its
neighbourhood, use it for all neighbours and throw it away. Backward, the gradient of W_v is the sum
T_v = sum_u h_u^T g_uv, gathered and spent the same way.

Order of every sum is fixed: target nodes are cut into a number of chunks that depends on the sizes
only, each chunk adds up by itself, and chunks are added in order. So the bits are the same on one
thread and on many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from nodewise.ops.dropconnect import (
    HEAD_STRIDE,
    INPUT_STRIDE,
    LANE_STRIDE,
    LAST_SHIFT,
    MIX,
    NODE_STRIDE,
)
from nodewise.ops.fused.generate import (
    GROUP,
    add_grad_expand,
    generate,
    grad_code,
    through_activation,
)
from nodewise.ops.fused.simd import add, fma, full, keep, load, mul, store, total

_WORD = 0xFFFFFFFF


class Rows(NamedTuple):
    """Node features, row by row: CSR, or dense with `col` counting one row's columns.

    A dense row's columns are numbered from its own start, a sparse row's are looked up by entry.
    """

    crow: NDArray[np.integer]
    col: NDArray[np.integer]
    values: NDArray[np.floating]
    width: int
    dense: bool


class Blocks(NamedTuple):
    """W in blocks of eight output rows, flat: (heads * blocks, width, 8), padded by zeros."""

    weight: NDArray[np.floating]
    heads: int
    out: int
    per_head: int


class Generator(NamedTuple):
    """Makes scales (or shifts): code (N, heads, bottleneck), expand (heads, bottleneck, padded)."""

    code: NDArray[np.floating]
    expand: NDArray[np.floating]
    bottleneck: int
    padded: int


class Drop(NamedTuple):
    """DropConnect as the kernels take it; threshold 0 is none."""

    seed: int
    threshold: int
    grow: float


@njit
def _mix(bits):
    for shift, factor in MIX:
        bits = ((bits ^ (bits >> shift)) * factor) & _WORD
    return bits ^ (bits >> LAST_SHIFT)


@njit
def _row(rows, u):
    """Where row u's values begin and end, and what to take off a place to find its column."""
    if rows.dense:
        return u * rows.width, (u + 1) * rows.width, u * rows.width
    return np.int64(rows.crow[u]), np.int64(rows.crow[u + 1]), np.int64(0)


@njit
def _row_length(rows, u):
    begin, end, _ = _row(rows, u)
    return end - begin


@njit
def _find_columns(group, targets, ptr, source, rows, stamp, seen, counts):
    """The columns in which W_v is needed, for four targets: those its neighbours use.

    Where the neighbours hold as many values as there are columns, all columns are taken.
    """
    for i in range(min(GROUP, targets - group * GROUP)):
        v = group * GROUP + i
        begin, end = ptr[v], ptr[v + 1]
        visits = 0
        for e in range(begin, end):
            visits += _row_length(rows, source[e])
        count = 0
        if visits >= rows.width:
            for f in range(rows.width):
                seen[i, f] = f
            count = rows.width
        else:
            for e in range(begin, end):
                for j in range(rows.crow[source[e]], rows.crow[source[e] + 1]):
                    f = rows.col[j]
                    if stamp[f] != v:
                        stamp[f] = v
                        seen[i, count] = f
                        count += 1
        counts[i] = count


@njit
def _mask(drop, node_key, head, f, lane, like):
    head_key = _mix((node_key + head * HEAD_STRIDE) & _WORD)
    key = _mix((head_key + f * INPUT_STRIDE) & _WORD)
    return keep((key + lane * LANE_STRIDE) & _WORD, drop.threshold, like)


@njit
def _form(blocks, block, v, own, padded, drop):
    """Eight rows of W_v (Eq. 4): W * a + b in the columns in use, DropConnect on top."""
    i, head, lane = v % GROUP, block // blocks.per_head, 8 * (block % blocks.per_head)
    node_key = _mix((v * NODE_STRIDE + drop.seed) & _WORD)
    first = block * 8 * (blocks.weight.size // (8 * blocks.heads * blocks.per_head))
    for c in range(own.counts[i]):
        f = np.int64(own.seen[i, c])
        w = load(blocks.weight, first + 8 * f)
        w = fma(w, full(own.scale[i * padded + f]), add(w, full(own.shift[i * padded + f])))
        if drop.threshold > 0:
            w = mul(mul(w, full(drop.grow)), _mask(drop, node_key, head, f, lane, w))
        store(own.local, 8 * f, w)


@njit
def _project(local, rows, u):
    """W_v h_u in eight lanes; four partial sums hide the latency of the multiply-add."""
    begin, end, base = _row(rows, u)
    a = full(local.dtype.type(0))
    b = c = d = a
    j = begin
    while j + 4 <= end:
        a = fma(full(rows.values[j]), load(local, 8 * rows.col[j - base]), a)
        b = fma(full(rows.values[j + 1]), load(local, 8 * rows.col[j + 1 - base]), b)
        c = fma(full(rows.values[j + 2]), load(local, 8 * rows.col[j + 2 - base]), c)
        d = fma(full(rows.values[j + 3]), load(local, 8 * rows.col[j + 3 - base]), d)
        j += 4
    while j < end:
        a = fma(full(rows.values[j]), load(local, 8 * rows.col[j - base]), a)
        j += 1
    return add(add(a, b), add(c, d))


@njit
def _outer(local, rows, u, g):
    """T_v += h_u^T g_uv for eight rows of W_v."""
    begin, end, base = _row(rows, u)
    for j in range(begin, end):
        at = 8 * rows.col[j - base]
        store(local, at, fma(full(rows.values[j]), g, load(local, at)))


@njit
def _place(blocks, block, e):
    """Where a block's part of edge e's message begins, and how many of its eight lanes are real."""
    head, lane = block // blocks.per_head, 8 * (block % blocks.per_head)
    return (e * blocks.heads + head) * blocks.out + lane, min(8, blocks.out - lane)


@njit
def _write(messages, at, lanes, width, spare):
    if width == 8:
        store(messages, at, lanes)
    else:
        store(spare, 0, lanes)
        for o in range(width):
            messages[at + o] = spare[o]


@njit
def _read(messages, at, width, spare):
    """Eight lanes of a message's gradient; `spare` is zero beyond the real ones."""
    if width == 8:
        return load(messages, at)
    for o in range(width):
        spare[o] = messages[at + o]
    return load(spare, 0)


class _Scratch(NamedTuple):
    """One chunk's buffers: rows and codes of four targets, one block of W_v, the columns in use."""

    scale: NDArray[np.floating]
    shift: NDArray[np.floating]
    scale_code: NDArray[np.floating]
    shift_code: NDArray[np.floating]
    local: NDArray[np.floating]
    spare: NDArray[np.floating]
    stamp: NDArray[np.int64]
    seen: NDArray[np.int32]
    counts: NDArray[np.int64]


@njit
def _scratch(rows, scale, shift):
    dtype = rows.values.dtype
    return _Scratch(
        np.zeros(GROUP * scale.padded, dtype),
        np.zeros(GROUP * shift.padded, dtype),
        np.zeros(GROUP * scale.bottleneck, dtype),
        np.zeros(GROUP * shift.bottleneck, dtype),
        np.zeros(8 * rows.width + 8, dtype),
        np.zeros(8, dtype),
        np.full(rows.width, -1, np.int64),
        np.empty((GROUP, rows.width), np.int32),
        np.zeros(GROUP, np.int64),
    )


@njit
def _generate(generator, group, targets, heads, head, slope, code, out):
    """Scales (or shifts) of four targets for one head; beyond the last target they are zero."""
    size = generator.bottleneck
    for i in range(GROUP):
        v = group * GROUP + i
        for k in range(size):
            code[i * size + k] = generator.code[(v * heads + head) * size + k] if v < targets else 0
    start = head * size * generator.padded
    return generate(generator.expand, start, code, size, generator.padded, slope, out)


@njit
def _forward_chunk(chunk, rows, blocks, scale, shift, slope, source, ptr, drop, messages, squares):
    targets, chunks, heads = ptr.size - 1, squares.shape[0], blocks.heads
    groups = (targets + GROUP - 1) // GROUP
    own = _scratch(rows, scale, shift)
    for group in range(chunk * groups // chunks, (chunk + 1) * groups // chunks):
        _find_columns(group, targets, ptr, source, rows, own.stamp, own.seen, own.counts)
        for head in range(heads):
            at = (group, targets, heads, head, slope)
            squares[chunk, 0] += _generate(scale, *at, own.scale_code, own.scale)
            squares[chunk, 1] += _generate(shift, *at, own.shift_code, own.shift)
            for block in range(head * blocks.per_head, (head + 1) * blocks.per_head):
                for v in range(group * GROUP, min((group + 1) * GROUP, targets)):
                    _form(blocks, block, v, own, scale.padded, drop)
                    for e in range(ptr[v], ptr[v + 1]):
                        first, width = _place(blocks, block, e)
                        lanes = _project(own.local, rows, source[e])
                        _write(messages, first, lanes, width, own.spare)


@njit(nogil=True, cache=True)
def forward(first, last, rows, blocks, scale, shift, slope, source, ptr, drop, messages, squares):
    """Fill `messages` (E, heads, out) and `squares` (chunks, 2): sums of (a - 1)^2 and of b^2."""
    for chunk in range(first, last):
        _forward_chunk(
            chunk, rows, blocks, scale, shift, slope, source, ptr, drop, messages, squares
        )


@njit
def _spend(blocks, block, v, own, padded, drop, grad_scale, grad_shift, grad_weight):
    """From T_v, eight rows of W_v's gradient, to the gradients of W, a_v and b_v; clears T_v."""
    i, head, lane = v % GROUP, block // blocks.per_head, 8 * (block % blocks.per_head)
    node_key = _mix((v * NODE_STRIDE + drop.seed) & _WORD)
    zero = full(own.local.dtype.type(0))
    first = block * 8 * (blocks.weight.size // (8 * blocks.heads * blocks.per_head))
    for c in range(own.counts[i]):
        f = np.int64(own.seen[i, c])
        t = load(own.local, 8 * f)
        store(own.local, 8 * f, zero)
        if drop.threshold > 0:
            t = mul(mul(t, full(drop.grow)), _mask(drop, node_key, head, f, lane, t))
        at = first + 8 * f
        grad_scale[i * padded + f] += total(mul(t, load(blocks.weight, at)))
        grad_shift[i * padded + f] += total(t)
        scaled = fma(t, full(own.scale[i * padded + f]), t)
        store(grad_weight, at, add(load(grad_weight, at), scaled))


@njit
def _backward_generator(
    generator,
    group,
    targets,
    heads,
    head,
    slope,
    code,
    rows,
    grad_rows,
    grad_squares,
    grad_codes,
    grad_expand,
):
    """The gradients of codes and expand from those of four targets' rows; clears the latter."""
    size, padded = generator.bottleneck, generator.padded
    start = head * size * padded
    through_activation(rows, grad_rows, grad_squares, slope, GROUP * padded)
    add_grad_expand(code, grad_rows, size, padded, grad_expand, start)
    grad_code(generator.expand, start, grad_rows, size, padded, code)
    for i in range(min(GROUP, targets - group * GROUP)):
        for k in range(size):
            grad_codes[((group * GROUP + i) * heads + head) * size + k] = code[i * size + k]
    grad_rows[:] = 0


@njit
def _backward_chunk(
    chunk,
    rows,
    blocks,
    scale,
    shift,
    slope,
    source,
    ptr,
    drop,
    grad_messages,
    grad_squares,
    grad_weight,
    grad_codes,
    grad_expands,
):
    targets, chunks, heads = ptr.size - 1, grad_weight.shape[0], blocks.heads
    groups = (targets + GROUP - 1) // GROUP
    own = _scratch(rows, scale, shift)
    grad_scale, grad_shift = np.zeros_like(own.scale), np.zeros_like(own.shift)
    for group in range(chunk * groups // chunks, (chunk + 1) * groups // chunks):
        _find_columns(group, targets, ptr, source, rows, own.stamp, own.seen, own.counts)
        for head in range(heads):
            at = (group, targets, heads, head, slope)
            _generate(scale, *at, own.scale_code, own.scale)
            _generate(shift, *at, own.shift_code, own.shift)
            for block in range(head * blocks.per_head, (head + 1) * blocks.per_head):
                for v in range(group * GROUP, min((group + 1) * GROUP, targets)):
                    for e in range(ptr[v], ptr[v + 1]):
                        first, width = _place(blocks, block, e)
                        g = _read(grad_messages, first, width, own.spare)
                        _outer(own.local, rows, source[e], g)
                    _spend(
                        blocks,
                        block,
                        v,
                        own,
                        scale.padded,
                        drop,
                        grad_scale,
                        grad_shift,
                        grad_weight[chunk],
                    )
            _backward_generator(
                scale,
                *at,
                own.scale_code,
                own.scale,
                grad_scale,
                grad_squares[0],
                grad_codes[0],
                grad_expands[0, chunk],
            )
            _backward_generator(
                shift,
                *at,
                own.shift_code,
                own.shift,
                grad_shift,
                grad_squares[1],
                grad_codes[1],
                grad_expands[1, chunk],
            )


@njit(nogil=True, cache=True)
def backward(
    first,
    last,
    rows,
    blocks,
    scale,
    shift,
    slope,
    source,
    ptr,
    drop,
    grad_messages,
    grad_squares,
    grad_weight,
    grad_codes,
    grad_expands,
):
    """Gradients of W (chunks, ...), of the codes (2, ...) and of the expands (2, chunks, ...).

    What has an axis of chunks is still to be added over it.
    """
    for chunk in range(first, last):
        _backward_chunk(
            chunk,
            rows,
            blocks,
            scale,
            shift,
            slope,
            source,
            ptr,
            drop,
            grad_messages,
            grad_squares,
            grad_weight,
            grad_codes,
            grad_expands,
        )


@njit
def _pull(local, rows, u, g, grad_values):
    """d/d h_u += W_v^T g_uv for eight rows of W_v."""
    begin, end, base = _row(rows, u)
    for j in range(begin, end):
        grad_values[j] += total(mul(g, load(local, 8 * rows.col[j - base])))


@njit
def _backward_rows_part(
    part,
    rows,
    blocks,
    scale,
    shift,
    slope,
    source,
    ptr,
    drop,
    grad_messages,
    parts,
    grad_values,
):
    targets, heads = ptr.size - 1, blocks.heads
    groups = (targets + GROUP - 1) // GROUP
    sources = (rows.values.size // max(rows.width, 1)) if rows.dense else rows.crow.size - 1
    own = _scratch(rows, scale, shift)
    low, high = part * sources // parts, (part + 1) * sources // parts
    for group in range(groups):
        _find_columns(group, targets, ptr, source, rows, own.stamp, own.seen, own.counts)
        for head in range(heads):
            at = (group, targets, heads, head, slope)
            _generate(scale, *at, own.scale_code, own.scale)
            _generate(shift, *at, own.shift_code, own.shift)
            for block in range(head * blocks.per_head, (head + 1) * blocks.per_head):
                for v in range(group * GROUP, min((group + 1) * GROUP, targets)):
                    _form(blocks, block, v, own, scale.padded, drop)
                    for e in range(ptr[v], ptr[v + 1]):
                        if low <= source[e] < high:
                            first, width = _place(blocks, block, e)
                            g = _read(grad_messages, first, width, own.spare)
                            _pull(own.local, rows, source[e], g, grad_values)


@njit(nogil=True, cache=True)
def backward_rows(
    first,
    last,
    rows,
    blocks,
    scale,
    shift,
    slope,
    source,
    ptr,
    drop,
    grad_messages,
    parts,
    grad_values,
):
    """The gradient of the features' values.

    A source node sends to many targets, so the work is cut by source: each part of the sources
    walks over all targets and adds only what is its own, in the order of the targets.
    """
    for part in range(first, last):
        _backward_rows_part(
            part,
            rows,
            blocks,
            scale,
            shift,
            slope,
            source,
            ptr,
            drop,
            grad_messages,
            parts,
            grad_values,
        )
