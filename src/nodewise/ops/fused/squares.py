"""How far all scales and shifts are from one and zero: sums of squares, and their gradient.

r = leaky_relu(expand @ code) is what a scale adds to one and what a shift is (Eq. 6). The penalty
asks for r at every node and feature, messages only where a neighbour has a feature: so this is the
larger part of the work, a product of matrices that nothing else has to wait for. The gradient is
known as soon as r is, up to the factor that the loss puts on the sum, and taken in the same sweep.

Four nodes by a panel of features at a time, so that a panel of `expand`, of its gradient, and of
the rows in between stay in the innermost cache for all nodes. Nothing of size N x d0 is stored.

Layouts, all flat: `code` (nodes, heads, bottleneck), `expand` (heads, bottleneck, width), rows
(4, panel), with `width` a multiple of 16 and `bottleneck` of 2, padded by zeros.
"""

from __future__ import annotations

from typing import NamedTuple

from nodewise.ops.compiled import kernel, part
from nodewise.ops.fused.simd import add, fma, full, get, load, mul, store, total, where_positive

GROUP = 4


class Sizes(NamedTuple):
    """How the work is cut: `parts` of the nodes for each head, `panel` features at a time."""

    nodes: int
    heads: int
    bottleneck: int
    width: int
    panel: int
    parts: int


@part
def _bend(t, bend, rows, at, squares):
    """Store g, half the gradient of r^2 by t where r = leaky_relu(t), and add r^2, which is g t."""
    g = where_positive(t, t, mul(t, bend))
    store(rows, at, g)
    return fma(g, t, squares)


@part
def _generate(code, expand, size, width, panel, slope, rows):
    """Rows of four nodes in a panel of features, as `_bend` has them; the sum of r^2."""
    zero, bend = full(code.dtype.type(0)), full(slope * slope)
    squares = more = zero
    for f in range(0, panel, 16):
        a0 = a1 = b0 = b1 = c0 = c1 = d0 = d1 = zero
        for k in range(size):
            p0, p1 = load(expand, k * width + f), load(expand, k * width + f + 8)
            t = full(get(code, k))
            a0, a1 = fma(t, p0, a0), fma(t, p1, a1)
            t = full(get(code, size + k))
            b0, b1 = fma(t, p0, b0), fma(t, p1, b1)
            t = full(get(code, 2 * size + k))
            c0, c1 = fma(t, p0, c0), fma(t, p1, c1)
            t = full(get(code, 3 * size + k))
            d0, d1 = fma(t, p0, d0), fma(t, p1, d1)
        squares = _bend(a0, bend, rows, f, squares)
        more = _bend(a1, bend, rows, f + 8, more)
        squares = _bend(b0, bend, rows, panel + f, squares)
        more = _bend(b1, bend, rows, panel + f + 8, more)
        squares = _bend(c0, bend, rows, 2 * panel + f, squares)
        more = _bend(c1, bend, rows, 2 * panel + f + 8, more)
        squares = _bend(d0, bend, rows, 3 * panel + f, squares)
        more = _bend(d1, bend, rows, 3 * panel + f + 8, more)
    return total(add(squares, more))


@part
def _to_codes(expand, rows, size, width, panel, out):
    """out[j, k] += sum over the panel of rows[j, f] expand[k, f], for four nodes j."""
    zero = full(rows.dtype.type(0))
    for k in range(0, size, 2):
        a0 = a1 = b0 = b1 = c0 = c1 = d0 = d1 = zero
        for f in range(0, panel, 8):
            p0, p1 = load(expand, k * width + f), load(expand, (k + 1) * width + f)
            g = load(rows, f)
            a0, a1 = fma(g, p0, a0), fma(g, p1, a1)
            g = load(rows, panel + f)
            b0, b1 = fma(g, p0, b0), fma(g, p1, b1)
            g = load(rows, 2 * panel + f)
            c0, c1 = fma(g, p0, c0), fma(g, p1, c1)
            g = load(rows, 3 * panel + f)
            d0, d1 = fma(g, p0, d0), fma(g, p1, d1)
        out[k] += total(a0)
        out[k + 1] += total(a1)
        out[size + k] += total(b0)
        out[size + k + 1] += total(b1)
        out[2 * size + k] += total(c0)
        out[2 * size + k + 1] += total(c1)
        out[3 * size + k] += total(d0)
        out[3 * size + k + 1] += total(d1)


@part
def _to_expand(code, rows, size, width, panel, out):
    """out[k, f] += sum over four nodes j of code[j, k] rows[j, f], in a panel."""
    for k in range(0, size, 2):
        a0, a1 = full(get(code, k)), full(get(code, k + 1))
        b0, b1 = full(get(code, size + k)), full(get(code, size + k + 1))
        c0, c1 = full(get(code, 2 * size + k)), full(get(code, 2 * size + k + 1))
        d0, d1 = full(get(code, 3 * size + k)), full(get(code, 3 * size + k + 1))
        for f in range(0, panel, 8):
            g0, g1 = load(rows, f), load(rows, panel + f)
            g2, g3 = load(rows, 2 * panel + f), load(rows, 3 * panel + f)
            at0, at1 = k * width + f, (k + 1) * width + f
            s0, s1 = fma(a0, g0, load(out, at0)), fma(a1, g0, load(out, at1))
            s0, s1 = fma(b0, g1, s0), fma(b1, g1, s1)
            s0, s1 = fma(c0, g2, s0), fma(c1, g2, s1)
            store(out, at0, fma(d0, g3, s0))
            store(out, at1, fma(d1, g3, s1))


@part
def _of_part(code, expand, sizes, head, begin, end, slope, own, codes, expands):
    """The sum of squares of some nodes under one head, and, if asked for, half its gradient."""
    size, width = sizes.bottleneck, sizes.width
    four, rows = own[: GROUP * size], own[GROUP * size :]
    squares = 0.0
    for start in range(0, width, sizes.panel):
        panel = min(sizes.panel, width - start)
        some = expand[head * size * width + start :]
        for first in range(begin, end, GROUP):
            for j in range(GROUP):
                at = ((first + j) * sizes.heads + head) * size
                for k in range(size):
                    four[j * size + k] = code[at + k] if first + j < end else 0
            squares += _generate(four, some, size, width, panel, slope, rows)
            if codes.size > 0:
                _to_expand(four, rows, size, width, panel, expands[start:])
                four[:] = 0
                _to_codes(some, rows, size, width, panel, four)
                for j in range(min(GROUP, end - first)):
                    at = ((first + j) * sizes.heads + head) * size
                    for k in range(size):
                        codes[at + k] += four[j * size + k]
    return squares


@kernel
def squares(first, last, own, generators, sizes, slope, sums, codes, expands):
    """Fill `sums` (2 heads parts) and, unless they are empty, half the gradients by the inputs.

    `generators` holds (code, expand) of the scales and of the shifts; `codes` is (2, ...),
    `expands` (2 heads parts, ...), still to be added over the parts.
    """
    heads, parts, nodes = sizes.heads, sizes.parts, sizes.nodes
    for item in range(first, last):
        which, head, cut = item // (heads * parts), item // parts % heads, item % parts
        code, expand = generators[which]
        groups = (nodes + GROUP - 1) // GROUP
        begin = cut * groups // parts * GROUP
        end = min((cut + 1) * groups // parts * GROUP, nodes)
        sums[item] = _of_part(
            code, expand, sizes, head, begin, end, slope, own, codes[which], expands[item]
        )
