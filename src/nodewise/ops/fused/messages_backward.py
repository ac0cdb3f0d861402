"""Gradients of localized messages, on CPU lanes.

The gradient of W_v is T_v = sum_u h_u^T g_uv, gathered for one target at a time in the columns its
neighbours use, spent on the gradients of W, a_v and b_v, and thrown away. What chunks of targets
share is added up in one copy for each chunk, and the copies in order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nodewise.ops.compiled import kernel, part
from nodewise.ops.dropconnect import NODE_STRIDE
from nodewise.ops.fused.generate import GROUP, add_grad_expand, grad_code, through_activation
from nodewise.ops.fused.layer import (
    WORD,
    Floats,
    find_columns,
    generate_tile,
    mask,
    mix,
    place,
    row_bounds,
    tile_size,
)
from nodewise.ops.fused.messages import form
from nodewise.ops.fused.simd import add, fma, full, get, load, mul, store, total


class Grads(NamedTuple):
    """What comes in (`messages`, `squares`) and what goes out.

    `weight` (chunks, ...), `expands` (2, chunks, ...) and `values` (chunks, ...) are still to be
    added over their chunks; `codes` is (2, ...); `values` is empty where nobody asked.
    """

    messages: Floats
    squares: Floats
    weight: Floats
    codes: Floats
    expands: Floats
    values: Floats


@part
def _read(messages, heads, per_head, out, first, tile, e, spare):
    """Put a tile's part of edge e's gradient into `spare`, eight lanes a block, zero beyond."""
    for t in range(tile):
        at, width = place(heads, per_head, out, first + t, e)
        if width == 8:
            store(spare, 8 * t, load(messages, at))
        else:
            for o in range(width):
                spare[8 * t + o] = messages[at + o]
            for o in range(width, 8):
                spare[8 * t + o] = 0


@part
def _outer_one(local, rows, u, g):
    """T_v += h_u^T g_uv for eight rows of W_v."""
    begin, end, base = row_bounds(rows, u)
    values, col = rows.values, rows.col
    for j in range(begin, end):
        at = 8 * get(col, j - base)
        store(local, at, fma(full(get(values, j)), g, load(local, at)))


@part
def _outer_four(local, rows, u, a, b, c, d):
    """T_v += h_u^T g_uv for four times eight rows of W_v."""
    begin, end, base = row_bounds(rows, u)
    values, col = rows.values, rows.col
    for j in range(begin, end):
        x, at = full(get(values, j)), 32 * get(col, j - base)
        store(local, at, fma(x, a, load(local, at)))
        store(local, at + 8, fma(x, b, load(local, at + 8)))
        store(local, at + 16, fma(x, c, load(local, at + 16)))
        store(local, at + 24, fma(x, d, load(local, at + 24)))


@part
def _gather(rows, heads, per_head, out, first, tile, begin, source, local, messages, spare):
    """T_v from all sources of one target, the edges from `begin` on, for a tile of blocks."""
    for i in range(source.size):
        _read(messages, heads, per_head, out, first, tile, begin + i, spare)
        if tile == 1:
            _outer_one(local, rows, source[i], load(spare, 0))
        else:
            g = (load(spare, 0), load(spare, 8), load(spare, 16), load(spare, 24))
            _outer_four(local, rows, source[i], *g)


@part
def _spend(
    weight,
    per_head,
    width,
    padded,
    drop,
    first,
    tile,
    v,
    scale,
    seen,
    count,
    local,
    grad_scale,
    grad_shift,
    grad_weight,
):
    """From T_v to the gradients of W, a_v and b_v; clears T_v."""
    i, node_key = v % GROUP, mix((v * NODE_STRIDE + drop.seed) & WORD)
    zero = full(local.dtype.type(0))
    for t in range(tile):
        block = first + t
        head, lane = block // per_head, 8 * (block % per_head)
        row = ((head - first // per_head) * GROUP + i) * padded
        for c in range(count):
            f = np.int64(seen[c])
            at = 8 * (f * tile + t)
            g = load(local, at)
            store(local, at, zero)
            if drop.threshold > 0:
                g = mul(mul(g, full(drop.grow)), mask(drop, node_key, head, f, lane, g))
            at = 8 * (block * width + f)
            grad_scale[row + f] += total(mul(g, load(weight, at)))
            grad_shift[row + f] += total(g)
            scaled = fma(g, full(get(scale, row + f)), g)
            store(grad_weight, at, add(load(grad_weight, at), scaled))


@part
def _pull_one(formed, rows, u, g, grad_values):
    """d/d h_u += W_v^T g_uv for eight rows of W_v."""
    begin, end, base = row_bounds(rows, u)
    for j in range(begin, end):
        grad_values[j] += total(mul(g, load(formed, 8 * get(rows.col, j - base))))


@part
def _pull_four(formed, rows, u, a, b, c, d, grad_values):
    """d/d h_u += W_v^T g_uv for four times eight rows of W_v, added up across lanes only once."""
    begin, end, base = row_bounds(rows, u)
    for j in range(begin, end):
        at = 32 * get(rows.col, j - base)
        s = fma(a, load(formed, at), mul(b, load(formed, at + 8)))
        t = fma(c, load(formed, at + 16), mul(d, load(formed, at + 24)))
        grad_values[j] += total(add(s, t))


@part
def _pull(
    rows, heads, per_head, out, first, tile, begin, source, formed, messages, spare, grad_values
):
    """d/d h_u += W_v^T g_uv for a tile of blocks and all sources of one target."""
    for i in range(source.size):
        _read(messages, heads, per_head, out, first, tile, begin + i, spare)
        if tile == 1:
            _pull_one(formed, rows, source[i], load(spare, 0), grad_values)
        else:
            g = (load(spare, 0), load(spare, 8), load(spare, 16), load(spare, 24))
            _pull_four(formed, rows, source[i], *g, grad_values)


@part
def _backward_generator(
    generator,
    heads,
    per_head,
    targets,
    group,
    first,
    tile,
    slope,
    code,
    rows,
    grad_rows,
    grad_squares,
    grad_codes,
    grad_expand,
):
    """Gradients of codes and expand from those of a tile's rows; clears the latter."""
    size, padded = generator.bottleneck, generator.padded
    first_head, last_head = first // per_head, (first + tile - 1) // per_head
    for head in range(first_head, last_head + 1):
        slot, start = (head - first_head) * GROUP, head * size * padded
        own_code = code[slot * size : (slot + GROUP) * size]
        own_rows = rows[slot * padded : (slot + GROUP) * padded]
        own_grad = grad_rows[slot * padded : (slot + GROUP) * padded]
        # A head that spreads over tiles has its squares in the first of them.
        pull = grad_squares if head * per_head >= first else rows.dtype.type(0)
        through_activation(own_rows, own_grad, pull, slope, GROUP * padded)
        add_grad_expand(own_code, own_grad, size, padded, grad_expand, start)
        grad_code(generator.expand, start, own_grad, size, padded, own_code)
        own_grad[:] = 0
        for i in range(min(GROUP, targets - group * GROUP)):
            at = ((group * GROUP + i) * heads + head) * size
            for k in range(size):
                grad_codes[at + k] += own_code[i * size + k]


@part
def _backward_group(layer, group, own, grads, chunk):
    """All gradients that four targets have a part in."""
    rows, blocks, source, ptr = layer.rows, layer.blocks, layer.source, layer.ptr
    heads, per_head, targets = blocks.heads, blocks.per_head, ptr.size - 1
    find_columns(group, rows, source, ptr, own.stamp, own.seen, own.counts)
    first = 0
    while first < heads * per_head:
        tile = tile_size(heads * per_head, first)
        at = (heads, per_head, targets, group, first, tile, layer.slope)
        generate_tile(layer.scale, *at, own.scale_code, own.scale)
        generate_tile(layer.shift, *at, own.shift_code, own.shift)
        for v in range(group * GROUP, min((group + 1) * GROUP, targets)):
            columns = (own.seen[v % GROUP], own.counts[v % GROUP])
            sizes = (per_head, rows.width, layer.scale.padded)
            which = (blocks.weight, *sizes, layer.drop, first, tile, v)
            sources = source[ptr[v] : ptr[v + 1]]
            where = (rows, heads, per_head, blocks.out, first, tile, ptr[v], sources)
            if grads.values.size > 0:
                form(*which, own.scale, own.shift, *columns, own.local)
                values = grads.values[chunk]
                _pull(*where, own.local, grads.messages, own.spare, values)
            _gather(*where, own.gathered, grads.messages, own.spare)
            to = (own.grad_scale, own.grad_shift, grads.weight[chunk])
            _spend(*which, own.scale, *columns, own.gathered, *to)
        scale = (own.scale_code, own.scale, own.grad_scale, grads.squares[0], grads.codes[0])
        shift = (own.shift_code, own.shift, own.grad_shift, grads.squares[1], grads.codes[1])
        _backward_generator(layer.scale, *at, *scale, grads.expands[0, chunk])
        _backward_generator(layer.shift, *at, *shift, grads.expands[1, chunk])
        first += tile


@kernel
def backward(first, last, own, layer, grads):
    """Fill `grads` for a range of chunks of the targets."""
    chunks, groups = grads.weight.shape[0], (layer.ptr.size - 1 + GROUP - 1) // GROUP
    own.stamp[:] = -1
    for chunk in range(first, last):
        for group in range(chunk * groups // chunks, (chunk + 1) * groups // chunks):
            _backward_group(layer, group, own, grads, chunk)
