"""Gradients of localized messages, on CPU lanes.

The gradient of W_v is T_v = sum_u h_u^T g_uv, gathered for one target at a time in the columns its
neighbours use, spent on the gradients of W, a_v and b_v, and thrown away. What chunks of targets
share is added up in one copy for each chunk, and the copies in order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nodewise.ops.compiled import inlined, kernel, part
from nodewise.ops.dropconnect import NODE_STRIDE
from nodewise.ops.fused.fours import fma_four, load_four, store_four
from nodewise.ops.fused.generate import generate_backward
from nodewise.ops.fused.layer import (
    TILE,
    WORD,
    Floats,
    ask_for_row,
    four_rows,
    generate_tile,
    mask,
    mix,
    place,
    row_bounds,
    take_columns,
    tile_bounds,
)
from nodewise.ops.fused.messages import form
from nodewise.ops.fused.simd import add, fma, full, get, load, mul, store, total, totals


class Grads(NamedTuple):
    """What comes in (`messages`) and what goes out.

    `weight` (cuts, ...), `expands` (2, cuts, ...) and `values` (pieces, ...) are still to be added
    over cuts of the targets or pieces of work; `codes` are two arrays; `values` is empty where
    nobody asked.
    """

    messages: Floats
    weight: Floats
    codes: Floats | tuple[Floats, Floats]
    expands: Floats
    values: Floats


@inlined
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


@inlined
def _outer_one(local, rows, slot, u, g):
    """T_v += h_u^T g_uv for eight rows of W_v."""
    begin, end, base = row_bounds(rows, u)
    for j in range(begin, end):
        at = 8 * get(slot, get(rows.col, j - base))
        store(local, at, fma(full(get(rows.values, j)), g, load(local, at)))


@inlined
def _outer_four(local, rows, slot, u, a, b, c, d):
    """T_v += h_u^T g_uv for four times eight rows of W_v."""
    begin, end, base = row_bounds(rows, u)
    for j in range(begin, end):
        x, at = full(get(rows.values, j)), 32 * get(slot, get(rows.col, j - base))
        store(local, at, fma(x, a, load(local, at)))
        store(local, at + 8, fma(x, b, load(local, at + 8)))
        store(local, at + 16, fma(x, c, load(local, at + 16)))
        store(local, at + 24, fma(x, d, load(local, at + 24)))


@inlined
def _outer_rows_one(local, values, width, starts, spare):
    """T_v += h_u^T g_uv for four dense h_u: a column of T_v is changed by all four at once."""
    p, q, r, s = starts
    a, b, c, d = load_four(spare, 0, 8)
    for f in range(width):
        t = fma(full(get(values, p + f)), a, load(local, 8 * f))
        t = fma(full(get(values, q + f)), b, t)
        t = fma(full(get(values, r + f)), c, t)
        store(local, 8 * f, fma(full(get(values, s + f)), d, t))


@inlined
def _outer_rows_four(local, values, width, starts, spare):
    """The same for four times eight rows of W_v."""
    p, q, r, s = starts
    a, b = load_four(spare, 0, 8), load_four(spare, 32, 8)
    c, d = load_four(spare, 64, 8), load_four(spare, 96, 8)
    for f in range(width):
        four = fma_four(full(get(values, p + f)), a, load_four(local, 32 * f, 8))
        four = fma_four(full(get(values, q + f)), b, four)
        four = fma_four(full(get(values, r + f)), c, four)
        store_four(local, 32 * f, 8, fma_four(full(get(values, s + f)), d, four))


@part
def _gather(rows, slot, heads, per_head, out, first, tile, edges, source, local, messages, spare):
    """T_v from all sources of one target, along some `edges`, for a tile of blocks."""
    if rows.dense:
        begin, end = edges
        for edge in range(begin, end, 4):
            spare[:] = 0
            for i in range(min(4, end - edge)):
                to = spare[8 * tile * i :]
                _read(messages, heads, per_head, out, first, tile, edge + i, to)
            starts = four_rows(rows, source, edge, end - 1)
            for i in range(4, 8):
                ask_for_row(rows, source, edge + i)
            if tile == 1:
                _outer_rows_one(local, rows.values, rows.width, starts, spare)
            else:
                _outer_rows_four(local, rows.values, rows.width, starts, spare)
        return
    for edge in range(*edges):
        ask_for_row(rows, source, edge + 1)
        _read(messages, heads, per_head, out, first, tile, edge, spare)
        if tile == 1:
            _outer_one(local, rows, slot, source[edge], load(spare, 0))
        else:
            g = (load(spare, 0), load(spare, 8), load(spare, 16), load(spare, 24))
            _outer_four(local, rows, slot, source[edge], *g)


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
    spare,
    grad_scale,
    grad_shift,
    grad_weight,
):
    """From T_v to the gradients of W, a_v and b_v; clears T_v.

    Beyond the columns in use, up to a multiple of eight, T_v is zero and changes nothing.
    """
    node_key = mix((v * NODE_STRIDE + drop.seed) & WORD)
    zero = full(local.dtype.type(0))
    for t in range(tile):
        block = first + t
        head, lane = block // per_head, 8 * (block % per_head)
        row = (head - first // per_head) * padded
        for c in range(0, count, 8):
            for i in range(8):
                f = np.int64(get(seen, c + i))
                at = 8 * ((c + i) * tile + t)
                g = load(local, at)
                store(local, at, zero)
                if drop.threshold > 0:
                    g = mul(mul(g, full(drop.grow)), mask(drop, node_key, head, f, lane, g))
                at = 8 * (block * width + f)
                store(spare, 8 * i, mul(g, load(weight, at)))
                store(spare, 64 + 8 * i, g)
                scaled = fma(g, full(get(scale, row + c + i)), g)
                store(grad_weight, at, add(load(grad_weight, at), scaled))
            store(grad_scale, row + c, add(load(grad_scale, row + c), totals(spare, 0)))
            store(grad_shift, row + c, add(load(grad_shift, row + c), totals(spare, 64)))


@inlined
def _pull_one(formed, rows, slot, u, g, grad_values):
    """d/d h_u += W_v^T g_uv for eight rows of W_v."""
    begin, end, base = row_bounds(rows, u)
    for j in range(begin, end):
        at = 8 * get(slot, get(rows.col, j - base))
        grad_values[j] += total(mul(g, load(formed, at)))


@inlined
def _pull_four(formed, rows, slot, u, a, b, c, d, grad_values):
    """d/d h_u += W_v^T g_uv for four times eight rows of W_v, added up across lanes only once."""
    begin, end, base = row_bounds(rows, u)
    for j in range(begin, end):
        at = 32 * get(slot, get(rows.col, j - base))
        s = fma(a, load(formed, at), mul(b, load(formed, at + 8)))
        t = fma(c, load(formed, at + 16), mul(d, load(formed, at + 24)))
        grad_values[j] += total(add(s, t))


@part
def _pull(
    rows,
    slot,
    heads,
    per_head,
    out,
    first,
    tile,
    edges,
    source,
    formed,
    messages,
    spare,
    grad_values,
):
    """d/d h_u += W_v^T g_uv for a tile of blocks and all sources of one target."""
    for edge in range(*edges):
        ask_for_row(rows, source, edge + 1)
        _read(messages, heads, per_head, out, first, tile, edge, spare)
        if tile == 1:
            _pull_one(formed, rows, slot, source[edge], load(spare, 0), grad_values)
        else:
            g = (load(spare, 0), load(spare, 8), load(spare, 16), load(spare, 24))
            _pull_four(formed, rows, slot, source[edge], *g, grad_values)


@part
def _backward_tile(
    generator, heads, per_head, width, v, first, tile, slope, seen, count, made, grads
):
    """Gradients of codes and expand from those of a tile's rows; clears the latter."""
    (rows, padded), (grad_rows, grad_code, grad_expand) = made, grads
    first_head, last_head = first // per_head, (first + tile - 1) // per_head
    for head in range(first_head, last_head + 1):
        at, start = (v * heads + head) * generator.size, head * width * generator.size
        given = (generator.code, at, generator.expand, start, generator.size, slope, seen, count)
        row = (head - first_head) * padded
        generate_backward(*given, rows, row, grad_rows, grad_code, grad_expand)


@part
def _backward_target(layer, v, first, tile, own, grads, cut, piece):
    """All gradients that one target has a part in, for a tile of blocks."""
    rows, blocks, seen = layer.rows, layer.blocks, own.seen
    heads, per_head, width = blocks.heads, blocks.per_head, rows.width
    count = take_columns(layer.columns, v, seen, own.slot)
    at = (heads, per_head, width, v, first, tile, layer.slope, seen, count)
    generate_tile(layer.scale, *at, own.spare, (own.scale, own.padded))
    generate_tile(layer.shift, *at, own.spare, (own.shift, own.padded))
    which = (blocks.weight, per_head, width, own.padded, layer.drop, first, tile, v)
    edges = (layer.ptr[v], layer.ptr[v + 1])
    where = (own.slot, heads, per_head, blocks.out, first, tile, edges, layer.source)
    if grads.values.size > 0:
        form(*which, own.scale, own.shift, seen, count, own.local)
        _pull(rows, *where, own.local, grads.messages, own.spare, grads.values[piece])
    _gather(rows, *where, own.gathered, grads.messages, own.spare)
    to = (own.grad_scale, own.grad_shift, grads.weight[cut])
    _spend(*which, own.scale, seen, count, own.gathered, own.spare, *to)
    scale = (own.grad_scale, grads.codes[0], grads.expands[0, cut])
    shift = (own.grad_shift, grads.codes[1], grads.expands[1, cut])
    _backward_tile(layer.scale, *at, (own.scale, own.padded), scale)
    _backward_tile(layer.shift, *at, (own.shift, own.padded), shift)


@kernel
def backward(first, last, own, layer, bounds, groups, grads):
    """Fill `grads`; a piece of work is a group of tiles for some of the targets.

    Tiles of one head belong together, since they add to the same gradients.
    """
    blocks, cuts = layer.blocks.heads * layer.blocks.per_head, bounds.size - 1
    tiles = blocks // TILE + blocks % TILE
    for piece in range(first, last):
        group, cut = piece // cuts, piece % cuts
        for number in range(group * tiles // groups, (group + 1) * tiles // groups):
            block, tile = tile_bounds(blocks, number)
            for v in range(bounds[cut], bounds[cut + 1]):
                _backward_target(layer, v, block, tile, own, grads, cut, piece)
