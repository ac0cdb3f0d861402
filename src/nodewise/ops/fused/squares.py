"""How far all scales and shifts are from one and zero: sums of squares, and their gradient.

r = leaky_relu(expand @ code) is what a scale adds to one and what a shift is (Eq. 6). The penalty
asks for r at every node and feature, messages only where a neighbour has a feature: so this is the
larger part of the work, a product of matrices that nothing else has to wait for. The gradient is
known as soon as r is, up to the factor that the loss puts on the sum, and taken in the same sweep.

Four nodes by a panel of features at a time, so that a panel of `expand`, of its gradient, and of
the rows in between stay close to the core for all nodes. Nothing of size N x d0 is stored.

Layouts, flat but for the heads: `code` (heads, nodes, bottleneck), `expand` (heads, bottleneck,
width), rows (4, panel), with `width` a multiple of 32, `bottleneck` and nodes of 4, padded by
zeros.
"""

from __future__ import annotations

from typing import NamedTuple

from nodewise.ops.compiled import kernel, part
from nodewise.ops.fused.fours import store_four
from nodewise.ops.fused.panels import GROUP, four_times_four, to_codes, to_expand, untangle
from nodewise.ops.fused.simd import add, fma, full, mul, total, where_positive


class Sizes(NamedTuple):
    """How the work is cut: `parts` of the groups for each head, `panel` features at a time.

    `nodes` and `code` are not padded.
    """

    nodes: int
    code: int
    groups: int
    heads: int
    bottleneck: int
    width: int
    panel: int
    parts: int


@part
def _bent(t, bend):
    """Half the gradient of r^2 by t where r = leaky_relu(t), `bend` being the slope's square."""
    return where_positive(t, t, mul(t, bend))


@part
def _bend(t, bend, rows, at, sums):
    """Store g, the half gradient, of four vectors t, and add up r^2, which is g t."""
    g = _bent(t[0], bend), _bent(t[1], bend), _bent(t[2], bend), _bent(t[3], bend)
    store_four(rows, at, 8, g)
    return (
        fma(g[0], t[0], sums[0]),
        fma(g[1], t[1], sums[1]),
        fma(g[2], t[2], sums[2]),
        fma(g[3], t[3], sums[3]),
    )


@part
def _generate(code, expand, size, width, panel, slope, rows):
    """Rows of four nodes in a panel of features, as `_bend` has them; the sum of r^2."""
    zero, bend = full(code.dtype.type(0)), full(slope * slope)
    squares = (zero, zero, zero, zero)
    for f in range(0, panel, 32):
        a, b, c, d = four_times_four(code, expand, size, width, f)
        squares = _bend(a, bend, rows, f, squares)
        squares = _bend(b, bend, rows, panel + f, squares)
        squares = _bend(c, bend, rows, 2 * panel + f, squares)
        squares = _bend(d, bend, rows, 3 * panel + f, squares)
    return total(add(add(squares[0], squares[1]), add(squares[2], squares[3])))


@part
def _of_part(code, expand, sizes, begin, end, slope, own, codes, expands):
    """The sum of squares of some groups of four nodes under one head, and half its gradient."""
    size, width = sizes.bottleneck, sizes.width
    spare, rows = own[:64], own[64:]
    squares = 0.0
    for start in range(0, width, sizes.panel):
        panel = min(sizes.panel, width - start)
        for group in range(begin, end):
            four, at = code[GROUP * group * size :], GROUP * group * size
            squares += _generate(four, expand[start:], size, width, panel, slope, rows)
            if codes.size > 0:
                to_expand(four, rows, size, width, panel, expands[start:])
                to_codes(expand[start:], rows, size, width, panel, spare, codes[at:])
    return squares


@kernel
def squares(first, last, own, generators, sizes, slope, sums, fours, codes, expands):
    """Fill `sums` (2 heads parts) and, unless they are empty, half the gradients by the inputs.

    `generators` holds (code, expand) of the scales and of the shifts; `codes` is (2, nodes heads
    code), gathered in `fours` (2, heads, ...), which are zeros; `expands` is (2 heads parts, ...),
    still to be added over the parts.
    """
    heads, parts, groups = sizes.heads, sizes.parts, sizes.groups
    for item in range(first, last):
        which, head, cut = item // (heads * parts), item // parts % heads, item % parts
        code, expand = generators[which]
        begin, end = cut * groups // parts, (cut + 1) * groups // parts
        given = (sizes, begin, end, slope, own, fours[which, head], expands[item])
        sums[item] = _of_part(code[head], expand[head], *given)
        if codes[which].size > 0:
            to = (codes[which], sizes.nodes, heads, head, sizes.code)
            untangle(fours[which, head], begin, end, sizes.bottleneck, *to)
