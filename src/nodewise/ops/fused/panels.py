"""Products of matrices, four rows by a panel of columns at a time: what `squares` and `own` share.

Narrow matrices times wide ones, and the ways back: a panel of the wide matrix, of its gradient and
of the four rows in between stay close to the core for all rows that pass by.

Layouts, all flat: a narrow matrix `code` (rows, size), a wide one `expand` (size, width), `rows`
(4, panel), with `panel` a multiple of 32 and `size` of 4, padded by zeros. Pointers to a row or a
column are slices that begin there.
"""

from __future__ import annotations

from nodewise.ops.compiled import inlined, part
from nodewise.ops.fused.fours import fma_four, load_four, spread, store_four
from nodewise.ops.fused.simd import (
    add,
    fma,
    full,
    get,
    load,
    lower_halves,
    store,
    totals,
    turn,
    upper_halves,
)

GROUP = 4


@part
def to_panel(columns_first, real, size, padded, panel, out):
    """From (real, size), columns in front, to (padded, panel), zeros beyond."""
    done = real - real % 8 if size % 8 == 0 else 0
    for f in range(0, done, 8):
        for k in range(0, size, 8):
            turn(columns_first, f * size + k, size, out, k * panel + f, panel)
    for k in range(padded):
        for f in range(done, panel):
            inside = f < real and k < size
            out[k * panel + f] = columns_first[f * size + k] if inside else 0


@part
def from_panel(out, real, size, panel, columns_first):
    """The way back."""
    done = real - real % 8 if size % 8 == 0 else 0
    for f in range(0, done, 8):
        for k in range(0, size, 8):
            turn(out, k * panel + f, panel, columns_first, f * size + k, size)
    for f in range(done, real):
        for k in range(size):
            columns_first[f * size + k] = out[k * panel + f]


@inlined
def _fma_two(x, two, sums):
    return fma(x, two[0], sums[0]), fma(x, two[1], sums[1])


@inlined
def four_times_two(code, expand, size, width, f):
    """sum over k of code[j, k] expand[k, f], for four rows j and 16 columns from f on.

    Twice as many columns would be fewer reads, but what is done with the sums would wait longer.
    """
    zero = full(code.dtype.type(0))
    a = b = c = d = (zero, zero)
    for k in range(size):
        two = load(expand, k * width + f), load(expand, k * width + f + 8)
        a = _fma_two(full(get(code, k)), two, a)
        b = _fma_two(full(get(code, size + k)), two, b)
        c = _fma_two(full(get(code, 2 * size + k)), two, c)
        d = _fma_two(full(get(code, 3 * size + k)), two, d)
    return a, b, c, d


@inlined
def store_two(rows, at, two):
    """Write two vectors to a flat array, side by side."""
    store(rows, at, two[0])
    store(rows, at + 8, two[1])


@part
def product(code, expand, size, width, panel, rows):
    """rows = code @ expand, for four rows and a panel."""
    for f in range(0, panel, 16):
        a, b, c, d = four_times_two(code, expand, size, width, f)
        store_two(rows, f, a)
        store_two(rows, panel + f, b)
        store_two(rows, 2 * panel + f, c)
        store_two(rows, 3 * panel + f, d)


@part
def to_codes(expand, rows, size, width, panel, spare, out):
    """out[k // 4, j, k % 4] += sum over the panel of rows[j, f] expand[k, f], for four rows j."""
    zero = full(rows.dtype.type(0))
    for k in range(0, size, 4):
        a = b = c = d = (zero, zero, zero, zero)
        for f in range(0, panel, 8):
            four = load_four(expand, k * width + f, width)
            a = fma_four(load(rows, f), four, a)
            b = fma_four(load(rows, panel + f), four, b)
            c = fma_four(load(rows, 2 * panel + f), four, c)
            d = fma_four(load(rows, 3 * panel + f), four, d)
        store_four(spare, 0, 8, a)
        store_four(spare, 32, 8, b)
        store(out, 4 * k, add(load(out, 4 * k), totals(spare, 0)))
        store_four(spare, 0, 8, c)
        store_four(spare, 32, 8, d)
        store(out, 4 * k + 8, add(load(out, 4 * k + 8), totals(spare, 0)))


@part
def untangle(fours, groups, padded, out, nodes, heads, head, size):
    """From some groups of four, as `to_codes` has them, to `out` (nodes, heads, size), one head's.

    `fours` begins with the first of these groups.
    """
    begin, apart = GROUP * groups[0], heads * size
    for v in range(begin, min(GROUP * groups[1], nodes), GROUP):
        at, to = (v - begin) * padded, (v * heads + head) * size
        if size % 8 == 0 and v + GROUP <= nodes:
            for k in range(0, size, 8):
                a, b, c, d = load_four(fours, at + 4 * k, 8)
                store(out, to + k, lower_halves(a, c))
                store(out, to + apart + k, upper_halves(a, c))
                store(out, to + 2 * apart + k, lower_halves(b, d))
                store(out, to + 3 * apart + k, upper_halves(b, d))
        else:
            for j in range(min(GROUP, nodes - v)):
                for k in range(size):
                    out[to + j * apart + k] = fours[at + k // 4 * 4 * GROUP + 4 * j + k % 4]


@part
def to_expand(code, rows, size, width, panel, out):
    """out[k, f] += sum over four rows j of code[j, k] rows[j, f], in a panel."""
    for k in range(0, size, 4):
        a, b = spread(code, k), spread(code, size + k)
        c, d = spread(code, 2 * size + k), spread(code, 3 * size + k)
        for f in range(0, panel, 8):
            sums = load_four(out, k * width + f, width)
            sums = fma_four(load(rows, f), a, sums)
            sums = fma_four(load(rows, panel + f), b, sums)
            sums = fma_four(load(rows, 2 * panel + f), c, sums)
            sums = fma_four(load(rows, 3 * panel + f), d, sums)
            store_four(out, k * width + f, width, sums)
