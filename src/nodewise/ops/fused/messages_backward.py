"""Gradients of localized messages z_uv = W_v h_u, W_v = W * a_v + b_v.

With g_uv the gradient of a message, the gradient of W_v is T_v = sum_u g_uv h_u^T. It is
accumulated for one target at a time in the active columns, used for the gradients of W (T_v * a_v),
a_v (column sums of T_v * W) and b_v (column sums of T_v), and cleared. The gradient of the features
is W_v^T g_uv, with W_v formed again.

Layouts as in `messages`; T_v is laid out like W_v.

Speed is bound by the cache: T_v is read and written once for every feature of every neighbor.

What chunks of targets share is accumulated in one copy for each chunk, and the copies are summed in
order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nodewise.ops.compiled import device, inlined, kernel
from nodewise.ops.fused.generate import generate, generate_backward
from nodewise.ops.fused.layer import (
    TILE,
    Floats,
    drop_mask,
    four_rows,
    list_columns,
    message_place,
    prefetch_row,
    row_bounds,
    tile_bounds,
)
from nodewise.ops.fused.messages import form_local
from nodewise.ops.fused.simd import (
    add,
    fma,
    fma_four,
    full,
    get,
    horizontal_sum,
    horizontal_sums,
    load,
    load_four,
    mix,
    mul,
    put,
    size,
    skip,
    store,
    store_four,
    views,
    zeros,
)
from nodewise.ops.hashing import NODE_STRIDE, WORD


class Grads(NamedTuple):
    """The gradient of the output (`messages`) and those that are accumulated.

    `weight`, `scale_expand` and `shift_expand` have a copy for each chunk of targets, `values` one
    for each piece of work, or is empty where it is not needed.
    """

    messages: Floats
    weight: Floats
    scale_code: Floats
    scale_expand: Floats
    shift_code: Floats
    shift_expand: Floats
    values: Floats


@inlined
def _read(messages, blocks, first, tile, edge, spare, to):
    """A tile's part of an edge's gradient into `spare`, eight lanes a block, zeros beyond."""
    for t in range(tile):
        at, real = message_place(blocks, first + t, edge)
        if real == 8:
            store(spare, to + 8 * t, load(messages, at))
        else:
            store(spare, to + 8 * t, zeros(spare))
            for o in range(real):
                put(spare, to + 8 * t + o, get(messages, at + o))


@inlined
def _outer_sparse_one(grad_local, rows, slot, u, g):
    """T_v += g_uv h_u^T for one block."""
    begin, end, base = row_bounds(rows, u)
    for j in range(begin, end):
        at = 8 * get(slot, get(rows.col, j - base))
        store(grad_local, at, fma(full(get(rows.values, j)), g, load(grad_local, at)))


@inlined
def _outer_sparse_four(grad_local, rows, slot, u, g):
    """T_v += g_uv h_u^T for four blocks."""
    begin, end, base = row_bounds(rows, u)
    for j in range(begin, end):
        x, at = full(get(rows.values, j)), 32 * get(slot, get(rows.col, j - base))
        store_four(grad_local, at, 8, fma_four(x, g, load_four(grad_local, at, 8)))


@inlined
def _outer_dense_one(grad_local, values, width, starts, spare):
    """T_v += g_uv h_u^T for four dense h_u: a column of T_v is loaded once for all four."""
    p, q, r, s = starts
    a, b, c, d = load_four(spare, 0, 8)
    for f in range(width):
        t = fma(full(get(values, p + f)), a, load(grad_local, 8 * f))
        t = fma(full(get(values, q + f)), b, t)
        t = fma(full(get(values, r + f)), c, t)
        store(grad_local, 8 * f, fma(full(get(values, s + f)), d, t))


@inlined
def _outer_dense_four(grad_local, values, width, starts, spare):
    """The same for four blocks."""
    p, q, r, s = starts
    a, b = load_four(spare, 0, 8), load_four(spare, 32, 8)
    c, d = load_four(spare, 64, 8), load_four(spare, 96, 8)
    for f in range(width):
        four = fma_four(full(get(values, p + f)), a, load_four(grad_local, 32 * f, 8))
        four = fma_four(full(get(values, q + f)), b, four)
        four = fma_four(full(get(values, r + f)), c, four)
        store_four(grad_local, 32 * f, 8, fma_four(full(get(values, s + f)), d, four))


@device
def _accumulate_local(rows, blocks, first, tile, begin, end, source, messages, scratch):
    """T_v along some edges to one target, for a tile of blocks."""
    grad_local, slot, spare = scratch.grad_local, scratch.slot, scratch.spare
    if rows.dense:
        for edge in range(begin, end, 4):
            for i in range(0, 32 * tile, 8):
                store(spare, i, zeros(spare))
            for i in range(min(4, end - edge)):
                _read(messages, blocks, first, tile, edge + i, spare, 8 * tile * i)
            starts = four_rows(rows, source, edge, end - 1)
            for i in range(4, 8):
                prefetch_row(rows, source, edge + i)
            if tile == 1:
                _outer_dense_one(grad_local, rows.values, rows.width, starts, spare)
            else:
                _outer_dense_four(grad_local, rows.values, rows.width, starts, spare)
        return
    for edge in range(begin, end):
        prefetch_row(rows, source, edge + 1)
        _read(messages, blocks, first, tile, edge, spare, 0)
        if tile == 1:
            _outer_sparse_one(grad_local, rows, slot, get(source, edge), load(spare, 0))
        else:
            g = load_four(spare, 0, 8)
            _outer_sparse_four(grad_local, rows, slot, get(source, edge), g)


@device
def _from_local(layer, v, first, tile, count, scratch, grad_weight, start):
    """From T_v to the gradients of W, a_v and b_v; clears T_v.

    Beyond the active columns, up to a multiple of eight, T_v is zero and changes nothing.
    """
    blocks, width, drop, spare = layer.blocks, layer.rows.width, layer.drop, scratch.spare
    node_key = mix((v * NODE_STRIDE + drop.seed) & WORD)
    zero = zeros(spare)
    for t in range(tile):
        block = first + t
        head, lane = block // blocks.per_head, 8 * (block % blocks.per_head)
        row = (head - first // blocks.per_head) * scratch.padded
        for c in range(0, count, 8):
            for i in range(8):
                f = np.int64(get(scratch.active, c + i))
                at = 8 * ((c + i) * tile + t)
                g = load(scratch.grad_local, at)
                store(scratch.grad_local, at, zero)
                if drop.threshold > 0:
                    g = mul(mul(g, full(drop.grow)), drop_mask(drop, node_key, head, f, lane, g))
                at = 8 * (block * width + f)
                store(spare, 8 * i, mul(g, load(blocks.weight, at)))
                store(spare, 64 + 8 * i, g)
                scaled = fma(g, full(get(scratch.scale, row + c + i)), g)
                store(grad_weight, start + at, add(load(grad_weight, start + at), scaled))
            at = row + c
            of_scale, of_shift = load(scratch.grad_scale, at), load(scratch.grad_shift, at)
            store(scratch.grad_scale, at, add(of_scale, horizontal_sums(spare, 0)))
            store(scratch.grad_shift, at, add(of_shift, horizontal_sums(spare, 64)))


@device
def _to_features(rows, blocks, first, tile, begin, end, source, messages, scratch, grad_values):
    """d/d h_u += W_v^T g_uv along some edges to one target, for a tile of blocks."""
    local, slot, spare = scratch.local, scratch.slot, scratch.spare
    for edge in range(begin, end):
        prefetch_row(rows, source, edge + 1)
        _read(messages, blocks, first, tile, edge, spare, 0)
        start, stop, base = row_bounds(rows, get(source, edge))
        if tile == 1:
            g = load(spare, 0)
            for j in range(start, stop):
                s = mul(g, load(local, 8 * get(slot, get(rows.col, j - base))))
                put(grad_values, j, get(grad_values, j) + horizontal_sum(s))
        else:
            a, b, c, d = load_four(spare, 0, 8)
            for j in range(start, stop):
                at = 32 * get(slot, get(rows.col, j - base))
                s = fma(a, load(local, at), mul(b, load(local, at + 8)))
                t = fma(c, load(local, at + 16), mul(d, load(local, at + 24)))
                put(grad_values, j, get(grad_values, j) + horizontal_sum(add(s, t)))


@device
def _backward_target(layer, v, first, tile, scratch, grads, chunk, piece):
    """All gradients to which one target contributes, for a tile of blocks."""
    rows, blocks, slope = layer.rows, layer.blocks, layer.slope
    count = list_columns(layer, v, scratch)
    where = (blocks, rows.width, v, first, tile, slope)
    generate(layer.scale, *where, scratch, count, scratch.scale)
    generate(layer.shift, *where, scratch, count, scratch.shift)
    edges = (get(layer.ptr, v), get(layer.ptr, v + 1))
    along = (rows, blocks, first, tile, *edges, layer.source, grads.messages, scratch)
    if size(grads.values) > 0:
        form_local(layer, v, first, tile, count, scratch)
        _to_features(*along, skip(grads.values, piece * size(rows.values)))
    _accumulate_local(*along)
    copy = chunk * size(blocks.weight)
    _from_local(layer, v, first, tile, count, scratch, grads.weight, copy)
    copy = chunk * size(layer.scale.expand)
    scale = (scratch.grad_scale, grads.scale_code, skip(grads.scale_expand, copy))
    shift = (scratch.grad_shift, grads.shift_code, skip(grads.shift_expand, copy))
    listed = (scratch.active, count, scratch.padded)
    generate_backward(layer.scale, *where, *listed, scratch.scale, scale)
    generate_backward(layer.shift, *where, *listed, scratch.shift, shift)


@kernel
def backward(begin, end, scratch, layer, bounds, groups, grads):
    """Accumulate `grads`; a piece of work is a group of tiles for one chunk of the targets.

    Tiles of one head belong to one group, since they add to the same gradients.
    """
    scratch, layer, bounds, grads = views((scratch, layer, bounds, grads))
    blocks, chunks = layer.blocks.heads * layer.blocks.per_head, size(bounds) - 1
    tiles = blocks // TILE + blocks % TILE
    for piece in range(begin, end):
        group, chunk = piece // chunks, piece % chunks
        for number in range(group * tiles // groups, (group + 1) * tiles // groups):
            first, tile = tile_bounds(blocks, number)
            for v in range(get(bounds, chunk), get(bounds, chunk + 1)):
                _backward_target(layer, v, first, tile, scratch, grads, chunk, piece)
