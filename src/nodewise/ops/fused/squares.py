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

from nodewise.ops.compiled import inlined, kernel, part
from nodewise.ops.fused.panels import (
    GROUP,
    four_times_two,
    from_panel,
    store_two,
    to_codes,
    to_expand,
    to_panel,
    untangle,
)
from nodewise.ops.fused.simd import add, fma, full, larger, load, mul, store, total


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


@inlined
def _bent(t, bend):
    """Half the gradient of r^2 by t where r = leaky_relu(t), `bend` being the slope's square.

    It is at most one, so this takes two steps: which of both is meant need not be asked first.
    """
    return larger(t, mul(t, bend))


@part
def _generate(code, expand, size, panel, bend, rows):
    """g, half the gradient of r^2 by expand @ code, for four nodes in a panel of columns."""
    bend = full(bend)
    for f in range(0, panel, 16):
        a, b, c, d = four_times_two(code, expand, size, panel, f)
        store_two(rows, f, (_bent(a[0], bend), _bent(a[1], bend)))
        store_two(rows, panel + f, (_bent(b[0], bend), _bent(b[1], bend)))
        store_two(rows, 2 * panel + f, (_bent(c[0], bend), _bent(c[1], bend)))
        store_two(rows, 3 * panel + f, (_bent(d[0], bend), _bent(d[1], bend)))


@inlined
def _add_squares(t, bend, sums):
    """sums + g t for two vectors."""
    return fma(_bent(t[0], bend), t[0], sums[0]), fma(_bent(t[1], bend), t[1], sums[1])


@part
def _sum_squares(code, expand, size, panel, bend):
    """The sum of r^2, which is g t, for four nodes in a panel of columns."""
    zero, bend = full(code.dtype.type(0)), full(bend)
    some = others = (zero, zero)
    for f in range(0, panel, 16):
        a, b, c, d = four_times_two(code, expand, size, panel, f)
        some = _add_squares(b, bend, _add_squares(a, bend, some))
        others = _add_squares(d, bend, _add_squares(c, bend, others))
    return total(add(add(some[0], some[1]), add(others[0], others[1])))


@part
def _take_codes(code, sizes, head, groups, some):
    """The codes of some groups of four nodes under one head, padded by zeros."""
    begin, end, size = GROUP * groups[0], GROUP * groups[1], sizes.bottleneck
    for v in range(begin, end):
        at, to = (v * sizes.heads + head) * sizes.code, (v - begin) * size
        if v < sizes.nodes and sizes.code == size and size % 8 == 0:
            for k in range(0, size, 8):
                store(some, to + k, load(code, at + k))
        else:
            for k in range(size):
                some[to + k] = code[at + k] if v < sizes.nodes and k < sizes.code else 0


@part
def _give_codes(fours, some, sizes, head, groups, codes):
    """What `to_codes` found for some groups, to where it belongs.

    Returns the sum of r^2: r is linear in the code but for the sign, so r^2 is half its gradient
    times the code.
    """
    untangle(fours, groups, sizes.bottleneck, codes, sizes.nodes, sizes.heads, head, sizes.code)
    squares = 0.0
    for v in range(GROUP * groups[0], min(GROUP * groups[1], sizes.nodes)):
        at, to = (v * sizes.heads + head) * sizes.code, (v - GROUP * groups[0]) * sizes.bottleneck
        if sizes.code % 8 == 0:
            lanes = full(some.dtype.type(0))
            for k in range(0, sizes.code, 8):
                lanes = fma(load(codes, at + k), load(some, to + k), lanes)
            squares += total(lanes)
        else:
            for k in range(sizes.code):
                squares += codes[at + k] * some[to + k]
    return squares


@part
def _of_part(code, expand, sizes, head, groups, slope, own, gradient, codes, expands):
    """The sum of squares of some groups of four nodes under one head, and half its gradient."""
    size, few, bend = sizes.bottleneck, GROUP * sizes.bottleneck, slope * slope
    all_codes = (groups[1] - groups[0]) * few
    spare, some, fours = own[:64], own[64:], own[64 + all_codes :]
    rows = fours[all_codes:]
    wide = rows[GROUP * sizes.panel :]
    found = wide[size * sizes.panel :]
    _take_codes(code, sizes, head, groups, some)
    fours[:all_codes] = 0
    squares = 0.0
    for start in range(0, sizes.columns, sizes.panel):
        real = min(sizes.panel, sizes.columns - start)
        panel = real + -real % 32
        to_panel(expand[start * sizes.code :], real, sizes.code, size, panel, wide)
        found[: size * panel] = 0
        for at in range(0, all_codes, few):
            if gradient:
                _generate(some[at:], wide, size, panel, bend, rows)
                to_expand(some[at:], rows, size, panel, panel, found)
                to_codes(wide, rows, size, panel, panel, spare, fours[at:])
            else:
                squares += _sum_squares(some[at:], wide, size, panel, bend)
        if gradient:
            from_panel(found, real, sizes.code, panel, expands[start * sizes.code :])
    return _give_codes(fours, some, sizes, head, groups, codes) if gradient else squares


@kernel
def squares(first, last, own, generators, sizes, slope, gradient, sums, codes, expands):
    """Fill `sums` (2 heads parts) and, if asked, half the gradients by the inputs.

    The slope is at most one.

    `generators` holds (code, expand) of the scales and of the shifts; `codes` is (2, nodes heads
    code), `expands` (2 heads parts, columns code), still to be added over the parts.
    """
    heads, parts, groups = sizes.heads, sizes.parts, sizes.groups
    for item in range(first, last):
        which, head, cut = item // (heads * parts), item // parts % heads, item % parts
        code, expand = generators[which]
        some = (cut * groups // parts, (cut + 1) * groups // parts)
        given = (sizes, head, some, slope, own, gradient, codes[which], expands[item])
        sums[item] = _of_part(code, expand[head], *given)
