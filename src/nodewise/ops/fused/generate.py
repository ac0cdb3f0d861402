"""Scales and shifts of one target node in the columns it uses, and the gradient of their generator.

r = leaky_relu(expand @ code) is what a scale adds to one and what a shift is (Eq. 6). Lanes run
along the code, and eight columns are added up together; where all columns are in use, they run
along these. What the penalty asks of all columns is the business of `squares`.

Layouts, all flat: `code` (nodes, heads, size), `expand` (heads, width, size) with `size` a multiple
of 8, padded by zeros; rows (heads of a tile, padded), in the order of the columns in use.
"""

from __future__ import annotations

import numpy as np

from nodewise.ops.compiled import part
from nodewise.ops.fused.simd import add, fma, full, get, load, mul, store, totals, where_positive


@part
def generate(code, at, expand, start, size, slope, seen, count, buffer, rows, row):
    """rows[row + c] = leaky_relu(expand[seen[c]] . code), for `count` columns, in eights."""
    bend = full(slope)
    for c in range(0, count, 8):
        for i in range(8):
            p = start + size * np.int64(get(seen, c + i))
            s = mul(load(expand, p), load(code, at))
            for k in range(8, size, 8):
                s = fma(load(expand, p + k), load(code, at + k), s)
            store(buffer, 8 * i, s)
        t = totals(buffer, 0)
        store(rows, row + c, where_positive(t, t, mul(t, bend)))


@part
def generate_all(code, at, columns_last, start, size, width, slope, rows, row):
    """The same for all columns, lanes along these; `columns_last` is (heads, size, width)."""
    bend = full(slope)
    for f in range(0, width, 16):
        s = t = full(code.dtype.type(0))
        for k in range(size):
            c, p = full(get(code, at + k)), start + k * width + f
            s, t = fma(c, load(columns_last, p), s), fma(c, load(columns_last, p + 8), t)
        store(rows, row + f, where_positive(s, s, mul(s, bend)))
        store(rows, row + f + 8, where_positive(t, t, mul(t, bend)))


@part
def generate_backward(
    code,
    at,
    expand,
    start,
    size,
    slope,
    seen,
    count,
    rows,
    row,
    grad_rows,
    grad_code,
    grad_expand,
):
    """Add to the gradients of a node's code and of `expand`; clears that of the rows."""
    bend, zero = full(slope), full(code.dtype.type(0))
    for c in range(0, count, 8):
        g = load(grad_rows, row + c)
        store(grad_rows, row + c, where_positive(load(rows, row + c), g, mul(g, bend)))
    for k in range(0, size, 8):
        lanes, found = load(code, at + k), zero
        for c in range(count):
            g, p = full(get(grad_rows, row + c)), start + size * np.int64(get(seen, c)) + k
            found = fma(g, load(expand, p), found)
            store(grad_expand, p, fma(g, lanes, load(grad_expand, p)))
        store(grad_code, at + k, add(load(grad_code, at + k), found))
    for c in range(0, count, 8):
        store(grad_rows, row + c, zero)
