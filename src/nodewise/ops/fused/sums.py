"""Sums over runs of edges (or of a sparse row's entries), always in the order given.

Sums over neighbours, sums of messages, products of sparse rows and the gradients of all of these
are one operation: out[v] = sum over v's run of weight[e] * x[index[e]].
"""

from __future__ import annotations

from numba import njit

from nodewise.ops.fused.simd import add, fma, full, load, store


@njit
def _add_lanes(x, index, weight, begin, end, width, o, out, at):
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
            a = fma(full(weight[e]), load(x, index[e] * width + o), a)
            b = fma(full(weight[e + 1]), load(x, index[e + 1] * width + o), b)
            e += 2
        if e < end:
            a = fma(full(weight[e]), load(x, index[e] * width + o), a)
    store(out, at, add(a, b))


@njit(nogil=True, cache=True)
def weighted(first, last, part, chunks, x, index, weight, ptr, width, out):
    """out[v] = sum over e of v's run of weight[e] * x[index[e]]; an empty `weight` is all ones.

    `x` (rows, width) and `out` (runs, width) are flat.
    """
    runs = ptr.size - 1
    lanes = width - width % 8
    for v in range(first * runs // chunks, last * runs // chunks):
        for o in range(0, lanes, 8):
            _add_lanes(x, index, weight, ptr[v], ptr[v + 1], width, o, out, v * width + o)
        for o in range(lanes, width):
            total = x.dtype.type(0)
            for e in range(ptr[v], ptr[v + 1]):
                value = x[index[e] * width + o]
                total += value if weight.size == 0 else weight[e] * value
            out[v * width + o] = total


@njit(nogil=True, cache=True)
def dots(first, last, part, chunks, x, g, index, ptr, width, out):
    """out[e] = x[index[e]] . g[v] for every edge e of v's run: the gradient of an edge's weight."""
    runs = ptr.size - 1
    for v in range(first * runs // chunks, last * runs // chunks):
        for e in range(ptr[v], ptr[v + 1]):
            dot = x.dtype.type(0)
            for o in range(width):
                dot += x[index[e] * width + o] * g[v * width + o]
            out[e] = dot
