"""How far all scales and shifts are from one and zero: sums of squares, and their gradient.

r = leaky_relu(expand @ code) is what a scale adds to one and what a shift is (Eq. 6). The penalty
asks for r at every node and feature, messages only where a neighbour has a feature: so this is the
larger part of the work, a product of matrices that nothing else has to wait for. The gradient is
known as soon as r is, up to the factor that the loss puts on the sum, and taken in the same sweep.

Four nodes by a panel of features at a time, so that a panel of `expand`, of its gradient, and of
the rows in between stay close to the core for all nodes. Nothing of size N x d0 is stored.

Layouts, flat but for the heads: codes (nodes, heads, code) and `expand` (heads, columns, code) as
they are. A piece of work turns one panel of `expand` at a time to (bottleneck, panel), with `panel`
a multiple of 32 and `bottleneck` of 4, padded by zeros, and its gradient back.
"""

from __future__ import annotations

from typing import NamedTuple

from nodewise.ops.compiled import kernel, part
from nodewise.ops.fused.fours import store_four
from nodewise.ops.fused.panels import (
    GROUP,
    four_times_four,
    from_panel,
    to_codes,
    to_expand,
    to_panel,
)
from nodewise.ops.fused.simd import add, fma, full, mul, total, where_positive


class Sizes(NamedTuple):
    """How the work is cut: `parts` of the groups for each head, `panel` columns at a time.

    `bottleneck` is the size of a code, padded.
    """

    nodes: int
    heads: int
    code: int
    columns: int
    groups: int
    bottleneck: int
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
def _generate(code, expand, size, panel, slope, rows):
    """Rows of four nodes in a panel of features, as `_bend` has them; the sum of r^2."""
    zero, bend = full(code.dtype.type(0)), full(slope * slope)
    squares = (zero, zero, zero, zero)
    for f in range(0, panel, 32):
        a, b, c, d = four_times_four(code, expand, size, panel, f)
        squares = _bend(a, bend, rows, f, squares)
        squares = _bend(b, bend, rows, panel + f, squares)
        squares = _bend(c, bend, rows, 2 * panel + f, squares)
        squares = _bend(d, bend, rows, 3 * panel + f, squares)
    return total(add(add(squares[0], squares[1]), add(squares[2], squares[3])))


@part
def _take_codes(code, sizes, group, head, four):
    """The codes of four nodes under one head, zeros beyond the last node."""
    for j in range(GROUP):
        v, to = GROUP * group + j, j * sizes.bottleneck
        at = (v * sizes.heads + head) * sizes.code
        for k in range(sizes.code):
            four[to + k] = code[at + k] if v < sizes.nodes else 0


@part
def _give_codes(fours, sizes, group, head, begun, codes):
    """What `to_codes` found for four nodes, to where it belongs; added if that has begun."""
    for j in range(min(GROUP, sizes.nodes - GROUP * group)):
        at = ((GROUP * group + j) * sizes.heads + head) * sizes.code
        for k in range(sizes.code):
            found = fours[k // 4 * 4 * GROUP + 4 * j + k % 4]
            codes[at + k] = codes[at + k] + found if begun else found


@part
def _of_part(code, expand, sizes, head, groups, slope, own, codes, expands):
    """The sum of squares of some groups of four nodes under one head, and half its gradient."""
    size, room = sizes.bottleneck, sizes.bottleneck * sizes.panel
    spare, four, fours = own[:64], own[64:], own[64 + GROUP * size :]
    rows, wide = own[64 + 2 * GROUP * size :], own[64 + 2 * GROUP * size + GROUP * sizes.panel :]
    found = wide[room:]
    four[: GROUP * size] = 0
    squares = 0.0
    for start in range(0, sizes.columns, sizes.panel):
        real = min(sizes.panel, sizes.columns - start)
        panel = real + -real % 32
        to_panel(expand[start * sizes.code :], real, sizes.code, size, panel, wide)
        found[: size * panel] = 0
        for group in range(*groups):
            _take_codes(code, sizes, group, head, four)
            squares += _generate(four, wide, size, panel, slope, rows)
            if expands.size > 0:
                to_expand(four, rows, size, panel, panel, found)
                fours[: GROUP * size] = 0
                to_codes(wide, rows, size, panel, panel, spare, fours)
                _give_codes(fours, sizes, group, head, start > 0, codes)
        if expands.size > 0:
            from_panel(found, real, sizes.code, panel, expands[start * sizes.code :])
    return squares


@kernel
def squares(first, last, own, generators, sizes, slope, sums, codes, expands):
    """Fill `sums` (2 heads parts) and, unless they are empty, half the gradients by the inputs.

    `generators` holds (code, expand) of the scales and of the shifts; `codes` is (2, nodes heads
    code), `expands` (2 heads parts, columns code), still to be added over the parts.
    """
    heads, parts, groups = sizes.heads, sizes.parts, sizes.groups
    for item in range(first, last):
        which, head, cut = item // (heads * parts), item // parts % heads, item % parts
        code, expand = generators[which]
        some = (cut * groups // parts, (cut + 1) * groups // parts)
        given = (sizes, head, some, slope, own, codes[which], expands[item])
        sums[item] = _of_part(code, expand[head], *given)
