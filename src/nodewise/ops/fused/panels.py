"""Products of a narrow matrix with a wide one, four rows by a panel of columns at a time.

A panel of `expand`, of its gradient and the four rows in between stay in the innermost cache for
all rows that pass by; speed is bound by arithmetic.

Layouts, all flat: a narrow matrix `code` (rows, length), a panel of a wide one `expand` (length,
panel), `rows` (4, panel), with `panel` a multiple of 32 and `length` of 4, padded by zeros.
"""

from __future__ import annotations

from nodewise.ops.compiled import device, inlined
from nodewise.ops.fused.simd import (
    add,
    fma,
    fma_four,
    full,
    get,
    halves,
    horizontal_sums,
    load,
    load_four,
    put,
    store,
    store_four,
    transpose,
    zeros,
)

# Rows that are taken together.
GROUP = 4


@device
def to_panel(expand, start, real, length, padded, panel, out):
    """From (real, length), columns in front, to (padded, panel), zeros beyond."""
    done = real - real % 8 if length % 8 == 0 else 0
    for f in range(0, done, 8):
        for k in range(0, length, 8):
            transpose(expand, start + f * length + k, length, out, k * panel + f, panel)
    for k in range(padded):
        for f in range(done, panel):
            inside = f < real and k < length
            put(out, k * panel + f, get(expand, start + f * length + k) if inside else 0)


@device
def from_panel(panel_of, real, length, panel, expand, start):
    """The inverse of `to_panel`."""
    done = real - real % 8 if length % 8 == 0 else 0
    for f in range(0, done, 8):
        for k in range(0, length, 8):
            transpose(panel_of, k * panel + f, panel, expand, start + f * length + k, length)
    for f in range(done, real):
        for k in range(length):
            put(expand, start + f * length + k, get(panel_of, k * panel + f))


@inlined
def _fma_two(x, two, sums):
    return fma(x, two[0], sums[0]), fma(x, two[1], sums[1])


@inlined
def product_16(code, expand, length, panel, f):
    """sum_k code[j, k] expand[k, f] for four rows j and 16 columns from f on.

    Twice as many columns would save loads, but what uses the sums would wait longer.
    """
    zero = zeros(code)
    a = b = c = d = (zero, zero)
    for k in range(length):
        two = load(expand, k * panel + f), load(expand, k * panel + f + 8)
        a = _fma_two(full(get(code, k)), two, a)
        b = _fma_two(full(get(code, length + k)), two, b)
        c = _fma_two(full(get(code, 2 * length + k)), two, c)
        d = _fma_two(full(get(code, 3 * length + k)), two, d)
    return a, b, c, d


@device
def grad_codes(expand, rows, length, panel, spare, out):
    """out[k // 4, j, k % 4] += sum_f rows[j, f] expand[k, f] for four rows j."""
    zero = zeros(rows)
    for k in range(0, length, 4):
        a = b = c = d = (zero, zero, zero, zero)
        for f in range(0, panel, 8):
            four = load_four(expand, k * panel + f, panel)
            a = fma_four(load(rows, f), four, a)
            b = fma_four(load(rows, panel + f), four, b)
            c = fma_four(load(rows, 2 * panel + f), four, c)
            d = fma_four(load(rows, 3 * panel + f), four, d)
        store_four(spare, 0, 8, a)
        store_four(spare, 32, 8, b)
        store(out, 4 * k, add(load(out, 4 * k), horizontal_sums(spare, 0)))
        store_four(spare, 0, 8, c)
        store_four(spare, 32, 8, d)
        store(out, 4 * k + 8, add(load(out, 4 * k + 8), horizontal_sums(spare, 0)))


@device
def unpack_codes(packed, groups, padded, out, nodes, heads, head, length):
    """From the layout of `grad_codes` to one head of `out` (nodes, heads, length), some groups.

    `packed` begins with the first of the groups.
    """
    begin, apart = GROUP * groups[0], heads * length
    for v in range(begin, min(GROUP * groups[1], nodes), GROUP):
        at, to = (v - begin) * padded, (v * heads + head) * length
        if length % 8 == 0 and v + GROUP <= nodes:
            for k in range(0, length, 8):
                a, b, c, d = load_four(packed, at + 4 * k, 8)
                first, second = halves(a, c)
                third, fourth = halves(b, d)
                store_four(out, to + k, apart, (first, second, third, fourth))
        else:
            for j in range(min(GROUP, nodes - v)):
                for k in range(length):
                    here = get(packed, at + k // 4 * 4 * GROUP + 4 * j + k % 4)
                    put(out, to + j * apart + k, here)


@inlined
def _fill_four(code, at):
    """Four numbers, each in all lanes of a vector."""
    return (
        full(get(code, at)),
        full(get(code, at + 1)),
        full(get(code, at + 2)),
        full(get(code, at + 3)),
    )


@device
def grad_expand(code, rows, length, panel, out):
    """out[k, f] += sum over four rows j of code[j, k] rows[j, f]."""
    for k in range(0, length, 4):
        a, b = _fill_four(code, k), _fill_four(code, length + k)
        c, d = _fill_four(code, 2 * length + k), _fill_four(code, 3 * length + k)
        for f in range(0, panel, 8):
            sums = load_four(out, k * panel + f, panel)
            sums = fma_four(load(rows, f), a, sums)
            sums = fma_four(load(rows, panel + f), b, sums)
            sums = fma_four(load(rows, 2 * panel + f), c, sums)
            sums = fma_four(load(rows, 3 * panel + f), d, sums)
            store_four(out, k * panel + f, panel, sums)
