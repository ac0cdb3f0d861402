"""Node-level localized messages z_uv = W_v h_u (Eqs. 4 and 6), on CPU lanes.

For one target node v at a time the kernel forms W_v in cache, only in the columns that occur in its
neighbourhood, uses it for all neighbours and throws it away.

Order of every sum is fixed: target nodes are cut into a number of chunks that depends on the sizes
only, each chunk adds up by itself, and chunks are added in order. So the bits are the same on one
thread and on many.
"""

from __future__ import annotations

import numpy as np

from nodewise.ops.compiled import inlined, kernel, part
from nodewise.ops.dropconnect import NODE_STRIDE
from nodewise.ops.fused.fours import fma_four, load_four, store_four
from nodewise.ops.fused.layer import (
    WORD,
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


@inlined
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


@inlined
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


@inlined
def _write(heads, per_head, out, first, tile, edge, spare, start, messages):
    """A tile's part of one edge's message, from eight lanes a block in `spare`."""
    for t in range(tile):
        at, width = place(heads, per_head, out, first + t, edge)
        if width == 8:
            store(messages, at, load(spare, start + 8 * t))
        else:
            for o in range(width):
                messages[at + o] = spare[start + 8 * t + o]


@inlined
def _rows_one(local, values, width, starts, spare):
    """Eight rows of W_v times four dense h_u: a column of W_v is used for all four at once."""
    p, q, r, s = starts
    a = full(local.dtype.type(0))
    b = c = d = e = g = h = i = a
    for f in range(0, width - 1, 2):
        w, x = load(local, 8 * f), load(local, 8 * f + 8)
        a, e = fma(full(get(values, p + f)), w, a), fma(full(get(values, p + f + 1)), x, e)
        b, g = fma(full(get(values, q + f)), w, b), fma(full(get(values, q + f + 1)), x, g)
        c, h = fma(full(get(values, r + f)), w, c), fma(full(get(values, r + f + 1)), x, h)
        d, i = fma(full(get(values, s + f)), w, d), fma(full(get(values, s + f + 1)), x, i)
    if width % 2 == 1:
        f, w = width - 1, load(local, 8 * width - 8)
        a, b = fma(full(get(values, p + f)), w, a), fma(full(get(values, q + f)), w, b)
        c, d = fma(full(get(values, r + f)), w, c), fma(full(get(values, s + f)), w, d)
    store_four(spare, 0, 8, (add(a, e), add(b, g), add(c, h), add(d, i)))


@inlined
def _rows_four(local, values, width, starts, spare):
    """Four times eight rows of W_v times four dense h_u."""
    p, q, r, s = starts
    zero = full(local.dtype.type(0))
    a = b = c = d = (zero, zero, zero, zero)
    for f in range(width):
        four = load_four(local, 32 * f, 8)
        a = fma_four(full(get(values, p + f)), four, a)
        b = fma_four(full(get(values, q + f)), four, b)
        c = fma_four(full(get(values, r + f)), four, c)
        d = fma_four(full(get(values, s + f)), four, d)
    store_four(spare, 0, 8, a)
    store_four(spare, 32, 8, b)
    store_four(spare, 64, 8, c)
    store_four(spare, 96, 8, d)


@part
def _send(rows, slot, heads, per_head, out, first, tile, edges, source, local, messages, spare):
    """Messages from all sources to one target, along some `edges`, for a tile of blocks."""
    where = (heads, per_head, out, first, tile)
    if rows.dense:
        begin, end = edges
        for edge in range(begin, end, 4):
            starts = four_rows(rows, source, edge, end - 1)
            for i in range(4, 8):
                ask_for_row(rows, source, edge + i)
            if tile == 1:
                _rows_one(local, rows.values, rows.width, starts, spare)
            else:
                _rows_four(local, rows.values, rows.width, starts, spare)
            for i in range(min(4, end - edge)):
                _write(*where, edge + i, spare, 8 * tile * i, messages)
        return
    for edge in range(*edges):
        ask_for_row(rows, source, edge + 1)
        if tile == 1:
            store(spare, 0, _project_one(local, rows, slot, source[edge]))
        else:
            store_four(spare, 0, 8, _project_four(local, rows, slot, source[edge]))
        _write(*where, edge, spare, 0, messages)


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
def forward(first, last, own, layer, bounds, messages):
    """Fill `messages` (E, heads, out); a piece of work is a tile for some of the targets."""
    blocks, cuts = layer.blocks.heads * layer.blocks.per_head, bounds.size - 1
    for piece in range(first, last):
        (block, tile), cut = tile_bounds(blocks, piece // cuts), piece % cuts
        for v in range(bounds[cut], bounds[cut + 1]):
            _forward_target(layer, v, block, tile, own, messages)
