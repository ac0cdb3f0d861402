"""Sums over runs of edges, or of a sparse row's entries: out[v] = sum_e weight[e] x[index[e]].

Sums over neighbors, attention's sums, sums of messages, products of sparse rows and the gradients
of all of these are this one operation, always summed in the order given. Rows may consist of heads,
and every head may have a separate weight.

Layouts, all flat: `x` (rows, width), `weight` (E, heads), `out` (runs, width). Wide rows go by
panels of columns, so that the rows in use stay in a core's private cache.

Speed is bound by memory: a gathered row for an edge.
"""

from __future__ import annotations

from nodewise.ops.compiled import inlined, kernel
from nodewise.ops.fused.simd import (
    add,
    fma,
    fma_four,
    full,
    get,
    horizontal_sum,
    load,
    load_four,
    put,
    size,
    store,
    store_four,
    views,
    zeros,
)

# Columns in a panel.
PANEL = 128


@inlined
def _weight(weight, e, heads, head, one):
    """The weight of an edge for a head; an empty array is all ones."""
    return one if size(weight) == 0 else get(weight, e * heads + head)


@inlined
def _sum_8(x, index, weight, heads, head, one, begin, end, width, o, out, at):
    """Eight columns of one run's sum; two partial sums hide the latency of the multiply-add."""
    a = b = zeros(x)
    e = begin
    while e + 2 <= end:
        w, next_w = _weight(weight, e, heads, head, one), _weight(weight, e + 1, heads, head, one)
        a = fma(full(w), load(x, get(index, e) * width + o), a)
        b = fma(full(next_w), load(x, get(index, e + 1) * width + o), b)
        e += 2
    if e < end:
        w = _weight(weight, e, heads, head, one)
        a = fma(full(w), load(x, get(index, e) * width + o), a)
    store(out, at, add(a, b))


@inlined
def _sum_32(x, index, weight, heads, head, one, begin, end, width, o, out, at):
    """Thirty-two columns of one run's sum: whole cache lines of every gathered row."""
    zero = zeros(x)
    sums = (zero, zero, zero, zero)
    for e in range(begin, end):
        w = full(_weight(weight, e, heads, head, one))
        sums = fma_four(w, load_four(x, get(index, e) * width + o, 8), sums)
    store_four(out, at, 8, sums)


@inlined
def _sum_panel(x, index, weight, heads, head, one, begin, end, width, start, columns, out, v):
    """A panel's columns of one run's sum."""
    stop = start + columns
    wide, lanes = stop - columns % 32, stop - columns % 8
    for o in range(start, wide, 32):
        _sum_32(x, index, weight, heads, head, one, begin, end, width, o, out, v * width + o)
    for o in range(wide, lanes, 8):
        _sum_8(x, index, weight, heads, head, one, begin, end, width, o, out, v * width + o)
    for o in range(lanes, stop):
        total = one - one
        for e in range(begin, end):
            total += _weight(weight, e, heads, head, one) * get(x, get(index, e) * width + o)
        put(out, v * width + o, total)


@kernel
def weighted(begin, end, part, chunks, x, index, weight, ptr, heads, width, out):
    """out[v] = sum over v's run of weight[e] x[index[e]]; an empty `weight` is all ones."""
    one, runs, columns = x.dtype.type(1), ptr.size - 1, width // heads
    x, index, weight, ptr, out = views((x, index, weight, ptr, out))
    first, last = begin * runs // chunks, end * runs // chunks
    together = max(1, PANEL // max(1, columns))
    for first_head in range(0, heads, together):
        for start in range(0, columns, PANEL):
            some = min(PANEL, columns - start)
            for v in range(first, last):
                edges = (get(ptr, v), get(ptr, v + 1))
                for h in range(first_head, min(heads, first_head + together)):
                    where = (*edges, width, h * columns + start, some, out, v)
                    _sum_panel(x, index, weight, heads, h, one, *where)


@kernel
def dots(begin, end, part, chunks, x, g, index, ptr, heads, width, out):
    """out[e] = x[index[e]] . g[v], head by head: the gradient of an edge's weight.

    `g` is (runs, width), `out` (E, heads).
    """
    runs, columns = ptr.size - 1, width // heads
    x, g, index, ptr, out = views((x, g, index, ptr, out))
    lanes = columns - columns % 8
    for v in range(begin * runs // chunks, end * runs // chunks):
        for e in range(get(ptr, v), get(ptr, v + 1)):
            for h in range(heads):
                i, j = get(index, e) * width + h * columns, v * width + h * columns
                products = zeros(x)
                for o in range(0, lanes, 8):
                    products = fma(load(x, i + o), load(g, j + o), products)
                dot = horizontal_sum(products)
                for o in range(lanes, columns):
                    dot += get(x, i + o) * get(g, j + o)
                put(out, e * heads + h, dot)
