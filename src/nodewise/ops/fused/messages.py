"""Node-level localized messages z_uv = W_v h_u (Eqs. 4 and 6), on CPU lanes.

For one target node v at a time the kernel forms W_v in cache, only in the columns that occur in its
neighbourhood, uses it for all neighbours and throws it away.

Order of every sum is fixed: target nodes are cut into a number of chunks that depends on the sizes
only, each chunk adds up by itself, and chunks are added in order. So the bits are the same on one
thread and on many.
"""

from __future__ import annotations

import numpy as np

from nodewise.ops.compiled import kernel, part
from nodewise.ops.dropconnect import NODE_STRIDE
from nodewise.ops.fused.layer import (
    WORD,
    ask_for_row,
    generate_tile,
    mask,
    mix,
    place,
    row_bounds,
    take_columns,
    tile_bounds,
)
from nodewise.ops.fused.simd import add, fma, full, get, load, mul, store


@part
def form(weight, per_head, width, padded, drop, first, tile, v, scale, shift, seen, count, local):
    """A tile of W_v (Eq. 4), W * a + b in the columns in use, DropConnect on top.

    `local` is laid out (count, tile, 8), `seen` has `count` columns in use.
    """
    node_key = mix((v * NODE_STRIDE + drop.seed) & WORD)
    for t in range(tile):
        block = first + t
        head, lane = block // per_head, 8 * (block % per_head)
        row = (head - first // per_head) * padded
        for c in range(count):
            f = np.int64(get(seen, c))
            w = load(weight, 8 * (block * width + f))
            w = fma(w, full(get(scale, row + c)), add(w, full(get(shift, row + c))))
            if drop.threshold > 0:
                w = mul(mul(w, full(drop.grow)), mask(drop, node_key, head, f, lane, w))
            store(local, 8 * (c * tile + t), w)


@part
def _project_one(local, rows, slot, u):
    """Eight rows of W_v h_u; four partial sums hide the latency of the multiply-add."""
    begin, end, base = row_bounds(rows, u)
    values, col = rows.values, rows.col
    a = full(local.dtype.type(0))
    b = c = d = a
    j = begin
    while j + 4 <= end:
        a = fma(full(get(values, j)), load(local, 8 * get(slot, get(col, j - base))), a)
        b = fma(full(get(values, j + 1)), load(local, 8 * get(slot, get(col, j + 1 - base))), b)
        c = fma(full(get(values, j + 2)), load(local, 8 * get(slot, get(col, j + 2 - base))), c)
        d = fma(full(get(values, j + 3)), load(local, 8 * get(slot, get(col, j + 3 - base))), d)
        j += 4
    while j < end:
        a = fma(full(get(values, j)), load(local, 8 * get(slot, get(col, j - base))), a)
        j += 1
    return add(add(a, b), add(c, d))


@part
def _project_four(local, rows, slot, u):
    """Four times eight rows of W_v h_u: every feature is looked up once for all four."""
    begin, end, base = row_bounds(rows, u)
    values, col = rows.values, rows.col
    a = full(local.dtype.type(0))
    b = c = d = e = f = g = h = a
    j = begin
    while j + 2 <= end:
        x, at = full(get(values, j)), 32 * get(slot, get(col, j - base))
        a, b = fma(x, load(local, at), a), fma(x, load(local, at + 8), b)
        c, d = fma(x, load(local, at + 16), c), fma(x, load(local, at + 24), d)
        x, at = full(get(values, j + 1)), 32 * get(slot, get(col, j + 1 - base))
        e, f = fma(x, load(local, at), e), fma(x, load(local, at + 8), f)
        g, h = fma(x, load(local, at + 16), g), fma(x, load(local, at + 24), h)
        j += 2
    if j < end:
        x, at = full(get(values, j)), 32 * get(slot, get(col, j - base))
        a, b = fma(x, load(local, at), a), fma(x, load(local, at + 8), b)
        c, d = fma(x, load(local, at + 16), c), fma(x, load(local, at + 24), d)
    return add(a, e), add(b, f), add(c, g), add(d, h)


@part
def _send(rows, slot, heads, per_head, out, first, tile, edges, source, local, messages, spare):
    """Messages from all sources to one target, along some `edges`, for a tile of blocks."""
    for edge in range(*edges):
        ask_for_row(rows, source, edge + 1)
        if tile == 1:
            store(spare, 0, _project_one(local, rows, slot, source[edge]))
        else:
            a, b, c, d = _project_four(local, rows, slot, source[edge])
            store(spare, 0, a)
            store(spare, 8, b)
            store(spare, 16, c)
            store(spare, 24, d)
        for t in range(tile):
            at, width = place(heads, per_head, out, first + t, edge)
            if width == 8:
                store(messages, at, load(spare, 8 * t))
            else:
                for o in range(width):
                    messages[at + o] = spare[8 * t + o]


@part
def _forward_target(layer, v, first, tile, own, messages):
    """Messages to one target from a tile of blocks."""
    rows, blocks, seen = layer.rows, layer.blocks, own.seen
    heads, per_head, width = blocks.heads, blocks.per_head, rows.width
    count = take_columns(layer.columns, v, seen, own.slot)
    at = (heads, per_head, width, v, first, tile, layer.slope, seen, count, own.spare)
    generate_tile(layer.scale, *at, (own.scale, own.padded))
    generate_tile(layer.shift, *at, (own.shift, own.padded))
    local = (own.scale, own.shift, seen, count, own.local)
    form(blocks.weight, per_head, width, own.padded, layer.drop, first, tile, v, *local)
    edges = (layer.ptr[v], layer.ptr[v + 1])
    where = (heads, per_head, blocks.out, first, tile, edges, layer.source)
    _send(rows, own.slot, *where, own.local, messages, own.spare)


@kernel
def forward(first, last, own, layer, cuts, messages):
    """Fill `messages` (E, heads, out); a piece of work is a tile for some of the targets."""
    targets, blocks = layer.ptr.size - 1, layer.blocks.heads * layer.blocks.per_head
    for piece in range(first, last):
        (block, tile), cut = tile_bounds(blocks, piece // cuts), piece % cuts
        for v in range(cut * targets // cuts, (cut + 1) * targets // cuts):
            _forward_target(layer, v, block, tile, own, messages)
