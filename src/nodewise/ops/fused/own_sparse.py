"""Every sparse row through its own node's weights: W_v s_v (Eqs. 4 and 6), on CPU lanes.

What `own` does for dense rows, for rows with few entries. No W_v is formed, for it would be used
once: W_v s = W (a_v * s) + (b_v . s) 1, in the columns where s has an entry, eight of them at a
time. What a column brings, its rows of both generators and of W, lies together in a `table`, and so
do their gradients: columns come in no order that a cache could know, and one visit serves for all.

Layouts, all flat: `table` (heads, width, 2 size + out), with `size` and `out` multiples of 8,
padded by zeros, and its gradient alike; codes (nodes, heads, size); outputs and their gradients
(nodes, heads, outputs) as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nodewise.ops.compiled import inlined, kernel
from nodewise.ops.fused.layer import Floats, Ints
from nodewise.ops.fused.own import bent
from nodewise.ops.fused.simd import (
    add,
    add_across,
    fma,
    full,
    get,
    load,
    mul,
    store,
    total,
)


class Sizes(NamedTuple):
    """Sizes, the outputs of a head also as they are; into how many parts backward cuts nodes."""

    nodes: int
    heads: int
    width: int
    size: int
    out: int
    outputs: int
    cuts: int


class OwnRows(NamedTuple):
    """Everything a pass needs."""

    crow: Ints
    col: Ints
    values: Floats
    table: Floats
    scale_code: Floats
    shift_code: Floats
    sizes: Sizes
    slope: float


class OwnScratch(NamedTuple):
    """One thread's buffers for one node and head: its entries, and what is summed over them.

    `seen` says where in the table each entry's column begins; it and `entries` go on to a multiple
    of eight, with zeros for entries. `lanes` holds three times eight numbers.
    """

    seen: Ints
    entries: Floats
    lanes: Floats
    pull: Floats
    of_scale: Floats
    of_shift: Floats
    out: Floats


@inlined
def _take(layer, v, head, seen, entries):
    """Lay out a node's entries; returns how many there are, with those that are none."""
    begin, count = np.int64(layer.crow[v]), layer.crow[v + 1] - np.int64(layer.crow[v])
    stride = 2 * layer.sizes.size + layer.sizes.out
    for c in range(count):
        seen[c] = (head * layer.sizes.width + get(layer.col, begin + c)) * stride
        entries[c] = get(layer.values, begin + c)
    padded = count + -count % 8
    for c in range(count, padded):
        # Other columns, one each: eight times the same would wait for each other.
        column = head * layer.sizes.width + min(c - count, layer.sizes.width - 1)
        seen[c], entries[c] = column * stride, 0
    return padded


@inlined
def _dots(table, seen, c, first, size, code, at):
    """table[column, first + k] . code[at + k] for eight columns, a lane each."""
    sums = full(table.dtype.type(0))
    for k in range(0, size, 8):
        lanes, p = load(code, at + k), first + k
        found = add_across(
            mul(load(table, get(seen, c) + p), lanes),
            mul(load(table, get(seen, c + 1) + p), lanes),
            mul(load(table, get(seen, c + 2) + p), lanes),
            mul(load(table, get(seen, c + 3) + p), lanes),
            mul(load(table, get(seen, c + 4) + p), lanes),
            mul(load(table, get(seen, c + 5) + p), lanes),
            mul(load(table, get(seen, c + 6) + p), lanes),
            mul(load(table, get(seen, c + 7) + p), lanes),
        )
        sums = found if k == 0 else add(sums, found)
    return sums


@inlined
def _gather(table, seen, c, first, lanes, at, sums):
    """sums + the eight columns' rows of a table, each times its number in `lanes`."""
    other = mul(full(get(lanes, at + 1)), load(table, get(seen, c + 1) + first))
    sums = fma(full(get(lanes, at)), load(table, get(seen, c) + first), sums)
    for i in range(2, 8, 2):
        sums = fma(full(get(lanes, at + i)), load(table, get(seen, c + i) + first), sums)
        more = load(table, get(seen, c + i + 1) + first)
        other = fma(full(get(lanes, at + i + 1)), more, other)
    return add(sums, other)


@inlined
def _scatter(table, seen, c, first, lanes, at, row):
    """Add `row` to those of eight columns, each times its number in `lanes`."""
    for i in range(8):
        p = get(seen, c + i) + first
        store(table, p, fma(full(get(lanes, at + i)), row, load(table, p)))


@inlined
def _clear(array, size):
    for k in range(0, size, 8):
        store(array, k, full(array.dtype.type(0)))


@kernel
def forward(first, last, own, layer, pieces, out):
    """Fill `out` (nodes, heads, outputs); a piece of work is a part of the nodes."""
    sizes, bend = layer.sizes, full(layer.slope)
    size, seen = sizes.size, own.seen
    for item in range(first * sizes.nodes // pieces, last * sizes.nodes // pieces):
        for head in range(sizes.heads):
            count, at = _take(layer, item, head, seen, own.entries), item * sizes.heads + head
            _clear(own.out, sizes.out)
            shifted = full(out.dtype.type(0))
            for c in range(0, count, 8):
                x = load(own.entries, c)
                a = _dots(layer.table, seen, c, 0, size, layer.scale_code, at * size)
                b = _dots(layer.table, seen, c, size, size, layer.shift_code, at * size)
                store(own.lanes, 0, fma(bent(a, a, bend), x, x))
                shifted = fma(bent(b, b, bend), x, shifted)
                for o in range(0, sizes.out, 8):
                    sums = load(own.out, o)
                    where = (seen, c, 2 * size + o, own.lanes, 0)
                    store(own.out, o, _gather(layer.table, *where, sums))
            more = total(shifted)
            for o in range(sizes.outputs):
                out[at * sizes.outputs + o] = own.out[o] + more


@inlined
def _pull(grad_out, at, sizes, pull):
    """A node's gradient under one head, padded by zeros; returns its sum."""
    _clear(pull, sizes.out)
    for o in range(sizes.outputs):
        pull[o] = grad_out[at * sizes.outputs + o]
    sums = load(pull, 0)
    for o in range(8, sizes.out, 8):
        sums = add(sums, load(pull, o))
    return total(sums)


@inlined
def _back(layer, c, at, own, pull, lanes):
    """What pulls at eight columns: of a and b before they are bent, a * s into `lanes`.

    Returns the gradient of the eight entries.
    """
    sizes, bend, size = layer.sizes, full(layer.slope), layer.sizes.size
    x, seen = load(own.entries, c), own.seen
    a = _dots(layer.table, seen, c, 0, size, layer.scale_code, at * size)
    b = _dots(layer.table, seen, c, size, size, layer.shift_code, at * size)
    dot = _dots(layer.table, seen, c, 2 * size, sizes.out, own.pull, 0)
    scale = bent(a, a, bend)
    store(lanes, 0, bent(a, mul(dot, x), bend))
    store(lanes, 8, bent(b, mul(pull, x), bend))
    store(lanes, 16, fma(scale, x, x))
    return fma(dot, scale, fma(pull, bent(b, b, bend), dot))


@inlined
def _both_ways(table, grads, seen, c, first, size, lanes, at, code, start, found):
    """From what pulls at expand @ code in eight columns to what pulls at both."""
    for k in range(0, size, 8):
        store(found, k, _gather(table, seen, c, first + k, lanes, at, load(found, k)))
        _scatter(grads, seen, c, first + k, lanes, at, load(code, start + k))


@kernel
def backward(first, last, own, layer, grad_out, tables, of_scale, of_shift, values):
    """Gradients of both codes, and of the table, (cuts, ...), still to be added.

    Those of the entries are empty where nobody asked.
    """
    sizes, size, seen = layer.sizes, layer.sizes.size, own.seen
    for cut in range(first, last):
        grads = tables[cut]
        grads[:] = 0
        for v in range(cut * sizes.nodes // sizes.cuts, (cut + 1) * sizes.nodes // sizes.cuts):
            for head in range(sizes.heads):
                count, at = _take(layer, v, head, seen, own.entries), v * sizes.heads + head
                pull = full(_pull(grad_out, at, sizes, own.pull))
                _clear(own.of_scale, size)
                _clear(own.of_shift, size)
                for c in range(0, count, 8):
                    of_entries = _back(layer, c, at, own, pull, own.lanes)
                    where, code = (layer.table, grads, seen, c), at * size
                    scale = (own.lanes, 0, layer.scale_code, code, own.of_scale)
                    shift = (own.lanes, 8, layer.shift_code, code, own.of_shift)
                    _both_ways(*where, 0, size, *scale)
                    _both_ways(*where, size, size, *shift)
                    for o in range(0, sizes.out, 8):
                        _scatter(grads, seen, c, 2 * size + o, own.lanes, 16, load(own.pull, o))
                    if values.size > 0:
                        store(own.lanes, 0, of_entries)
                        begin = np.int64(layer.crow[v])
                        for i in range(min(8, layer.crow[v + 1] - begin - c)):
                            values[begin + c + i] += own.lanes[i]
                for k in range(0, size, 8):
                    store(of_scale, at * size + k, load(own.of_scale, k))
                    store(of_shift, at * size + k, load(own.of_shift, k))
