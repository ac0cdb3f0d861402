"""The penalty's sums of squares over all scales and shifts, and their gradient (Eq. 11).

sum over nodes v and features f of r_vf^2 with r = leaky_relu(t), t = expand @ code: r is a_v - 1
or b_v of Eq. 6. Messages need r only in active columns, the penalty everywhere: a product of
matrices, and the larger part of a layer's work. Its gradient is computed in the same sweep, up to
the factor that the loss puts on the sum. Nothing of size N x d0 is stored.

Half the gradient of r^2 by t is g = max(t, slope^2 t) for slopes of at most one, so r^2 = g t.

Layouts: codes (nodes, heads, code) and `expand` (heads, columns, code), flat; a piece of work
transposes one panel of `expand` at a time to (bottleneck, panel), and its gradient back.

Speed is bound by arithmetic: `nodewise bench messages` prints the share of the machine's peak.
"""

from __future__ import annotations

from typing import NamedTuple

from nodewise.ops.compiled import device, inlined, kernel
from nodewise.ops.fused.panels import (
    GROUP,
    from_panel,
    grad_codes,
    grad_expand,
    product_16,
    to_panel,
    unpack_codes,
)
from nodewise.ops.fused.simd import (
    add,
    fma,
    full,
    get,
    horizontal_sum,
    load,
    maximum,
    mul,
    put,
    skip,
    store,
    views,
    zeros,
)


class SquaresPlan(NamedTuple):
    """How the work is cut: `parts` of the groups of four nodes, `panel` columns at a time.

    `bottleneck` is the size of a code, padded to a multiple of four.
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
def _half_gradient(t, slope_squared):
    """g, half the gradient of r^2 by t."""
    return maximum(t, mul(t, slope_squared))


@inlined
def _store_half_gradients(rows, at, two, slope_squared):
    store(rows, at, _half_gradient(two[0], slope_squared))
    store(rows, at + 8, _half_gradient(two[1], slope_squared))


@device
def _generate(code, expand, length, panel, slope_squared, rows):
    """g for four nodes in a panel of columns."""
    slope_squared = full(slope_squared)
    for f in range(0, panel, 16):
        a, b, c, d = product_16(code, expand, length, panel, f)
        _store_half_gradients(rows, f, a, slope_squared)
        _store_half_gradients(rows, panel + f, b, slope_squared)
        _store_half_gradients(rows, 2 * panel + f, c, slope_squared)
        _store_half_gradients(rows, 3 * panel + f, d, slope_squared)


@inlined
def _add_squares(t, slope_squared, sums):
    """sums + g t for two vectors."""
    first = fma(_half_gradient(t[0], slope_squared), t[0], sums[0])
    return first, fma(_half_gradient(t[1], slope_squared), t[1], sums[1])


@device
def _sum_squares(code, expand, length, panel, slope_squared):
    """The sum of r^2 = g t for four nodes in a panel of columns."""
    zero, slope_squared = zeros(code), full(slope_squared)
    some = others = (zero, zero)
    for f in range(0, panel, 16):
        a, b, c, d = product_16(code, expand, length, panel, f)
        some = _add_squares(b, slope_squared, _add_squares(a, slope_squared, some))
        others = _add_squares(d, slope_squared, _add_squares(c, slope_squared, others))
    return horizontal_sum(add(add(some[0], some[1]), add(others[0], others[1])))


@device
def _copy_codes(code, sizes, head, groups, out):
    """The codes of some groups of four nodes under one head, padded by zeros."""
    begin, end, length = GROUP * groups[0], GROUP * groups[1], sizes.bottleneck
    for v in range(begin, end):
        at, to = (v * sizes.heads + head) * sizes.code, (v - begin) * length
        if v < sizes.nodes and sizes.code == length and length % 8 == 0:
            for k in range(0, length, 8):
                store(out, to + k, load(code, at + k))
        else:
            for k in range(length):
                inside = v < sizes.nodes and k < sizes.code
                put(out, to + k, get(code, at + k) if inside else 0)


@device
def _dot_codes(some, sizes, head, groups, codes):
    """The sum of r^2 from half its gradient by the codes.

    r^2 is homogeneous of degree two in the code, so it is half its gradient times the code.
    """
    squares = 0.0
    for v in range(GROUP * groups[0], min(GROUP * groups[1], sizes.nodes)):
        at, to = (v * sizes.heads + head) * sizes.code, (v - GROUP * groups[0]) * sizes.bottleneck
        if sizes.code % 8 == 0:
            lanes = zeros(some)
            for k in range(0, sizes.code, 8):
                lanes = fma(load(codes, at + k), load(some, to + k), lanes)
            squares += horizontal_sum(lanes)
        else:
            for k in range(sizes.code):
                squares += get(codes, at + k) * get(some, to + k)
    return squares


@inlined
def _clear(view, count):
    for i in range(0, count, 8):
        store(view, i, zeros(view))


@device
def _piece(code, expand, sizes, head, groups, slope, scratch, gradient, codes, expands):
    """The sum of squares of some groups of four nodes under one head, and half its gradient."""
    length, few, slope_squared = sizes.bottleneck, GROUP * sizes.bottleneck, slope * slope
    all_codes = (groups[1] - groups[0]) * few
    spare, some = scratch, skip(scratch, 64)
    packed = skip(some, all_codes)
    rows = skip(packed, all_codes)
    wide = skip(rows, GROUP * sizes.panel)
    grad_wide = skip(wide, length * sizes.panel)
    _copy_codes(code, sizes, head, groups, some)
    _clear(packed, all_codes)
    squares = 0.0
    for start in range(0, sizes.columns, sizes.panel):
        real = min(sizes.panel, sizes.columns - start)
        panel = real + -real % 32
        to_panel(expand, start * sizes.code, real, sizes.code, length, panel, wide)
        _clear(grad_wide, length * panel)
        for at in range(0, all_codes, few):
            four = skip(some, at)
            if gradient:
                _generate(four, wide, length, panel, slope_squared, rows)
                grad_expand(four, rows, length, panel, grad_wide)
                grad_codes(wide, rows, length, panel, spare, skip(packed, at))
            else:
                squares += _sum_squares(four, wide, length, panel, slope_squared)
        if gradient:
            from_panel(grad_wide, real, sizes.code, panel, expands, start * sizes.code)
    if gradient:
        unpack_codes(packed, groups, length, codes, sizes.nodes, sizes.heads, head, sizes.code)
        return _dot_codes(some, sizes, head, groups, codes)
    return squares


@kernel
def squares(begin, end, scratch, generators, sizes, slope, gradient, sums, codes, expands):
    """Fill `sums` (2, heads, parts) and, if asked, half the gradients of the inputs.

    The slope is at most one. `generators` holds (code, expand) of the scales and of the shifts;
    `codes` is (2, nodes, heads, code), `expands` (2, heads, parts, columns, code), still to be
    summed over the parts.
    """
    scratch, generators, sums = views((scratch, generators, sums))
    codes, expands = views((codes, expands))
    heads, parts, groups = sizes.heads, sizes.parts, sizes.groups
    table = sizes.columns * sizes.code
    for item in range(begin, end):
        which, head, part = item // (heads * parts), item // parts % heads, item % parts
        code, expand = generators[which]
        some = (part * groups // parts, (part + 1) * groups // parts)
        to_codes = skip(codes, which * sizes.nodes * heads * sizes.code) if gradient else codes
        to_expand = skip(expands, item * table) if gradient else expands
        given = (sizes, head, some, slope, scratch, gradient, to_codes, to_expand)
        put(sums, item, _piece(code, skip(expand, head * table), *given))
