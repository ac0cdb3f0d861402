"""Node-level localized messages z_uv = W_v h_u with W_v = W * a_v + b_v (Eqs. 4 and 6).

For one target v at a time the kernel forms W_v in cache, in the active columns only, applies it to
the features of all neighbors, and discards it.

Layouts: W_v (active columns, blocks of a tile, 8); messages (E, heads, out); the rest in `layer`.

Speed is bound by arithmetic on dense rows (four neighbors share every load of W_v), and on sparse
rows by the cache, which a load per feature keeps busy.

The order of every sum is fixed: targets are cut into chunks that depend on sizes only. So the bits
are the same on one thread and on many.
"""

from __future__ import annotations

import numpy as np

from nodewise.ops.compiled import device, inlined, kernel
from nodewise.ops.fused.generate import generate
from nodewise.ops.fused.layer import (
    drop_mask,
    four_rows,
    list_columns,
    message_place,
    prefetch_row,
    row_bounds,
    tile_bounds,
)
from nodewise.ops.fused.simd import (
    add,
    fma,
    fma_four,
    full,
    get,
    load,
    load_four,
    mix,
    mul,
    put,
    size,
    store,
    store_four,
    views,
    zeros,
)
from nodewise.ops.hashing import NODE_STRIDE, WORD


@device
def form_local(layer, v, first, tile, count, scratch):
    """A tile of W_v (Eq. 4) in the active columns, DropConnect on top."""
    blocks, width, drop = layer.blocks, layer.rows.width, layer.drop
    node_key = mix((v * NODE_STRIDE + drop.seed) & WORD)
    for t in range(tile):
        block = first + t
        head, lane = block // blocks.per_head, 8 * (block % blocks.per_head)
        row = (head - first // blocks.per_head) * scratch.padded
        for c in range(count):
            f = np.int64(get(scratch.active, c))
            w = load(blocks.weight, 8 * (block * width + f))
            a, b = full(get(scratch.scale, row + c)), full(get(scratch.shift, row + c))
            w = fma(w, a, add(w, b))
            if drop.threshold > 0:
                w = mul(mul(w, full(drop.grow)), drop_mask(drop, node_key, head, f, lane, w))
            store(scratch.local, 8 * (c * tile + t), w)


@inlined
def _sparse_times_one(local, rows, slot, u):
    """Eight rows of W_v h_u; four partial sums hide the latency of the multiply-add."""
    begin, end, base = row_bounds(rows, u)
    values, col = rows.values, rows.col
    a = b = c = d = zeros(local)
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
def _sparse_times_four(local, rows, slot, u):
    """Four blocks of W_v h_u: every feature is looked up once for all four."""
    begin, end, base = row_bounds(rows, u)
    values, col = rows.values, rows.col
    zero = zeros(local)
    some = others = (zero, zero, zero, zero)
    j = begin
    while j + 2 <= end:
        at, next_at = 32 * get(slot, get(col, j - base)), 32 * get(slot, get(col, j + 1 - base))
        some = fma_four(full(get(values, j)), load_four(local, at, 8), some)
        others = fma_four(full(get(values, j + 1)), load_four(local, next_at, 8), others)
        j += 2
    if j < end:
        at = 32 * get(slot, get(col, j - base))
        some = fma_four(full(get(values, j)), load_four(local, at, 8), some)
    return (
        add(some[0], others[0]),
        add(some[1], others[1]),
        add(some[2], others[2]),
        add(some[3], others[3]),
    )


@inlined
def _dense_times_one(local, values, width, starts, spare):
    """Eight rows of W_v times four dense h_u: a column of W_v is loaded once for all four."""
    p, q, r, s = starts
    a = b = c = d = e = g = h = i = zeros(local)
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
def _dense_times_four(local, values, width, starts, spare):
    """Four blocks of W_v times four dense h_u."""
    p, q, r, s = starts
    zero = zeros(local)
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


@inlined
def _write(blocks, first, tile, edge, spare, start, messages):
    """A tile's part of one edge's message, from eight lanes a block in `spare`."""
    for t in range(tile):
        at, real = message_place(blocks, first + t, edge)
        if real == 8:
            store(messages, at, load(spare, start + 8 * t))
        else:
            for o in range(real):
                put(messages, at + o, get(spare, start + 8 * t + o))


@device
def _send(rows, blocks, first, tile, begin, end, source, scratch, messages):
    """Messages along some edges to one target, for a tile of blocks."""
    local, slot, spare = scratch.local, scratch.slot, scratch.spare
    if rows.dense:
        for edge in range(begin, end, 4):
            starts = four_rows(rows, source, edge, end - 1)
            for i in range(4, 8):
                prefetch_row(rows, source, edge + i)
            if tile == 1:
                _dense_times_one(local, rows.values, rows.width, starts, spare)
            else:
                _dense_times_four(local, rows.values, rows.width, starts, spare)
            for i in range(min(4, end - edge)):
                _write(blocks, first, tile, edge + i, spare, 8 * tile * i, messages)
        return
    for edge in range(begin, end):
        prefetch_row(rows, source, edge + 1)
        u = get(source, edge)
        if tile == 1:
            store(spare, 0, _sparse_times_one(local, rows, slot, u))
        else:
            store_four(spare, 0, 8, _sparse_times_four(local, rows, slot, u))
        _write(blocks, first, tile, edge, spare, 0, messages)


@kernel
def forward(begin, end, scratch, layer, bounds, messages):
    """Fill `messages` (E, heads, out); a piece of work is a tile for one chunk of the targets."""
    scratch, layer, bounds, messages = views((scratch, layer, bounds, messages))
    rows, all_blocks, ptr = layer.rows, layer.blocks, layer.ptr
    blocks, chunks = all_blocks.heads * all_blocks.per_head, size(bounds) - 1
    for piece in range(begin, end):
        (first, tile), chunk = tile_bounds(blocks, piece // chunks), piece % chunks
        for v in range(get(bounds, chunk), get(bounds, chunk + 1)):
            count = list_columns(layer, v, scratch)
            where = (all_blocks, rows.width, v, first, tile, layer.slope, scratch, count)
            generate(layer.scale, *where, scratch.scale)
            generate(layer.shift, *where, scratch.shift)
            form_local(layer, v, first, tile, count, scratch)
            edges = (get(ptr, v), get(ptr, v + 1))
            _send(rows, all_blocks, first, tile, *edges, layer.source, scratch, messages)
