"""Sums over runs of edges (or of a sparse row's entries), always in the order given.

Sums over neighbours, attention's sums, sums of messages, products of sparse rows and the gradients
of all of these are one operation: out[v] = sum over v's run of weight[e] * x[index[e]]. Rows may
consist of heads, and every head may have a weight of its own.
"""

from __future__ import annotations

from nodewise.ops.compiled import inlined, kernel
from nodewise.ops.fused.simd import add, fma, full, load, store, total

# Columns that go together: of wide rows, a core's own cache holds only so much.
PANEL = 128


@inlined
def _add_lanes(x, index, weight, heads, head, begin, end, width, o, out, at):
    """Eight columns of one run's sum; two partial sums hide the latency of the multiply-add."""
    a = b = full(x.dtype.type(0))
    e = begin
    if weight.size == 0:
        while e + 2 <= end:
            a = add(a, load(x, index[e] * width + o))
            b = add(b, load(x, index[e + 1] * width + o))
            e += 2
        if e < end:
            a = add(a, load(x, index[e] * width + o))
    else:
        while e + 2 <= end:
            a = fma(full(weight[e * heads + head]), load(x, index[e] * width + o), a)
            b = fma(full(weight[(e + 1) * heads + head]), load(x, index[e + 1] * width + o), b)
            e += 2
        if e < end:
            a = fma(full(weight[e * heads + head]), load(x, index[e] * width + o), a)
    store(out, at, add(a, b))


@inlined
def _add_wide(x, index, weight, heads, head, begin, end, width, o, out, at):
    """Thirty-two columns of one run's sum: whole cache lines of every row that is visited."""
    zero, one = x.dtype.type(0), x.dtype.type(1)
    a = b = c = d = full(zero)
    for e in range(begin, end):
        w = full(one if weight.size == 0 else weight[e * heads + head])
        i = index[e] * width + o
        a = fma(w, load(x, i), a)
        b = fma(w, load(x, i + 8), b)
        c = fma(w, load(x, i + 16), c)
        d = fma(w, load(x, i + 24), d)
    store(out, at, a)
    store(out, at + 8, b)
    store(out, at + 16, c)
    store(out, at + 24, d)


@inlined
def _panel(x, index, weight, heads, head, begin, end, width, start, columns, out, v):
    """A panel's columns of one run's sum."""
    stop = start + columns
    wide, lanes = stop - columns % 32, stop - columns % 8
    for o in range(start, wide, 32):
        _add_wide(x, index, weight, heads, head, begin, end, width, o, out, v * width + o)
    for o in range(wide, lanes, 8):
        _add_lanes(x, index, weight, heads, head, begin, end, width, o, out, v * width + o)
    for o in range(lanes, stop):
        result = x.dtype.type(0)
        for e in range(begin, end):
            value = x[index[e] * width + o]
            result += value if weight.size == 0 else weight[e * heads + head] * value
        out[v * width + o] = result


@kernel
def weighted(first, last, part, chunks, x, index, weight, ptr, heads, width, out):
    """out[v] = sum over e of v's run of weight[e] * x[index[e]]; an empty `weight` is all ones.

    `x` (rows, width), `weight` (E, heads) and `out` (runs, width) are flat.
    """
    runs, size = ptr.size - 1, width // heads
    begin, end = first * runs // chunks, last * runs // chunks
    together = max(1, PANEL // max(1, size))
    for first_head in range(0, heads, together):
        for start in range(0, size, PANEL):
            columns = min(PANEL, size - start)
            for v in range(begin, end):
                for h in range(first_head, min(heads, first_head + together)):
                    o = h * size + start
                    _panel(
                        x, index, weight, heads, h, ptr[v], ptr[v + 1], width, o, columns, out, v
                    )


@kernel
def dots(first, last, part, chunks, x, g, index, ptr, heads, width, out):
    """out[e] = x[index[e]] . g[v], head by head, for every edge e of v's run.

    It is the gradient of the edges' weights; `x`, `g` (runs, width) and `out` (E, heads) are flat.
    """
    runs, size = ptr.size - 1, width // heads
    lanes = size - size % 8
    for v in range(first * runs // chunks, last * runs // chunks):
        for e in range(ptr[v], ptr[v + 1]):
            for h in range(heads):
                i, j = index[e] * width + h * size, v * width + h * size
                products = full(x.dtype.type(0))
                for o in range(0, lanes, 8):
                    products = fma(load(x, i + o), load(g, j + o), products)
                dot = total(products)
                for o in range(lanes, size):
                    dot += x[i + o] * g[j + o]
                out[e * heads + h] = dot
