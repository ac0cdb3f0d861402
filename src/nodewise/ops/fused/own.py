"""Every dense row through its own node's weights: W_v s_v (Eqs. 4 and 6), on CPU lanes.

What is left of a layer without edge level whose sums over C_v come first. No W_v is formed, for it
would be used once: W_v s = W (a_v * s) + (b_v . s) 1. All of it is products of narrow matrices with
wide ones, four nodes by a panel of columns at a time, and the way back makes scales and shifts
again: nothing of size N x d0 is stored but s and its gradient.

Layouts as in `panels`, heads in front: codes (heads, nodes, size), `expand` (heads, size, width), W
(heads, out, width), gradients of outputs (heads, nodes, out), with `width` a multiple of 32,
`size`, `out` and nodes of 4, padded by zeros; s as it is, (nodes, columns).
"""

from __future__ import annotations

from typing import NamedTuple

from nodewise.ops.compiled import inlined, kernel, part
from nodewise.ops.fused.layer import Floats
from nodewise.ops.fused.panels import GROUP, product, to_codes, to_expand, untangle
from nodewise.ops.fused.simd import fma, full, load, mul, store, total, where_positive


class Sizes(NamedTuple):
    """Sizes as they are, padded, and how the work is cut, as in `squares`."""

    nodes: int
    columns: int
    bottleneck: int
    outputs: int
    groups: int
    heads: int
    code: int
    out: int
    width: int
    panel: int
    parts: int


class OwnLayer(NamedTuple):
    """Everything a pass needs; `scale` and `shift` are (codes, expand)."""

    rows: Floats
    weight: Floats
    scale: tuple[Floats, Floats]
    shift: tuple[Floats, Floats]
    sizes: Sizes
    slope: float


@part
def _take(values, sizes, group, start, panel, rows):
    """Four rows in a panel of columns, zeros beyond nodes and columns."""
    for j in range(GROUP):
        v, to = GROUP * group + j, j * panel
        real = min(panel, sizes.columns - start) if v < sizes.nodes else 0
        at = v * sizes.columns + start
        for f in range(0, real - 7, 8):
            store(rows, to + f, load(values, at + f))
        for f in range(real - real % 8, real):
            rows[to + f] = values[at + f]
        for f in range(real, panel):
            rows[to + f] = 0


@part
def _add_to(values, sizes, group, start, panel, rows):
    """Add four rows in a panel of columns to where they belong."""
    for j in range(GROUP):
        v = GROUP * group + j
        real = min(panel, sizes.columns - start) if v < sizes.nodes else 0
        at = v * sizes.columns + start
        for f in range(real):
            values[at + f] += rows[j * panel + f]


@inlined
def bent(t, g, bend):
    """g where t is above zero, else g times the slope: leaky_relu and its gradient."""
    return where_positive(t, g, mul(g, bend))


@part
def _scale(s, made, shifts, panel, slope, group, shifted):
    """`made` becomes a * s for four rows, in place; b . s is added to `shifted`."""
    bend = full(slope)
    for j in range(GROUP):
        sums = full(s.dtype.type(0))
        for f in range(j * panel, (j + 1) * panel, 8):
            x, a, b = load(s, f), load(made, f), load(shifts, f)
            store(made, f, fma(bent(a, a, bend), x, x))
            sums = fma(bent(b, b, bend), x, sums)
        shifted[GROUP * group + j] += total(sums)


@kernel
def forward(first, last, own, layer, fours, shifted, out):
    """Fill `out` (nodes, heads, outputs), gathered in `fours` (heads, ...) and `shifted`, zeros.

    A piece of work is a part of the nodes, under one head after the other.
    """
    sizes, panel = layer.sizes, layer.sizes.panel
    code, width, room = sizes.code, sizes.width, GROUP * panel
    spare, s, a, b = own[:64], own[64:], own[64 + room :], own[64 + 2 * room :]
    for item in range(first * sizes.heads, last * sizes.heads):
        cut, head = item // sizes.heads, item % sizes.heads
        begin, end = cut * sizes.groups // sizes.parts, (cut + 1) * sizes.groups // sizes.parts
        scales, expand_a = layer.scale[0][head], layer.scale[1][head]
        shifts, expand_b = layer.shift[0][head], layer.shift[1][head]
        weight = layer.weight[head]
        for start in range(0, width, panel):
            size = min(panel, width - start)
            for group in range(begin, end):
                at, to = GROUP * group * code, GROUP * group * sizes.out
                _take(layer.rows, sizes, group, start, size, s)
                product(scales[at:], expand_a[start:], code, width, size, a)
                product(shifts[at:], expand_b[start:], code, width, size, b)
                _scale(s, a, b, size, layer.slope, group, shifted[head])
                to_codes(weight[start:], a, sizes.out, width, size, spare, fours[head, to:])
        end_of = (out, sizes.nodes, sizes.heads, head, sizes.outputs)
        found = fours[head, GROUP * begin * sizes.out :]
        untangle(found, (begin, end), sizes.out, *end_of)
        for v in range(GROUP * begin, min(GROUP * end, sizes.nodes)):
            for o in range(sizes.outputs):
                out[(v * sizes.heads + head) * sizes.outputs + o] += shifted[head, v]


@part
def _turn_back(s, a, b, dots, pulls, panel, slope):
    """From what was made, s and W^T g to what pulls at each, in place, for four rows.

    a becomes the gradient of expand @ code for scales, b that for shifts, s becomes a * s, and
    `dots` the gradient of s. `pulls` are the sums over g.
    """
    bend = full(slope)
    for j in range(GROUP):
        pull = full(pulls[j])
        for f in range(j * panel, (j + 1) * panel, 8):
            x, made_a, made_b, dot = load(s, f), load(a, f), load(b, f), load(dots, f)
            scale = bent(made_a, made_a, bend)
            store(a, f, bent(made_a, mul(dot, x), bend))
            store(b, f, bent(made_b, mul(pull, x), bend))
            store(s, f, fma(scale, x, x))
            store(dots, f, fma(dot, scale, fma(pull, bent(made_b, made_b, bend), dot)))


@kernel
def backward(first, last, own, layer, grad_out, fours, codes, expands, weights, values):
    """Gradients of codes (2, nodes heads bottleneck), gathered in `fours`, of expands and weights.

    The latter are (2, pieces heads, ...) and (pieces heads, ...), still to be added over pieces.
    Those of the rows start as zeros, or are empty where nobody asked.
    """
    sizes, panel = layer.sizes, layer.sizes.panel
    code, out, width, room = sizes.code, sizes.out, sizes.width, GROUP * panel
    spare, s, a = own[:64], own[64:], own[64 + room :]
    b, dots = own[64 + 2 * room :], own[64 + 3 * room :]
    for item in range(first * sizes.heads, last * sizes.heads):
        cut, head = item // sizes.heads, item % sizes.heads
        begin, end = cut * sizes.groups // sizes.parts, (cut + 1) * sizes.groups // sizes.parts
        scales, expand_a = layer.scale[0][head], layer.scale[1][head]
        shifts, expand_b = layer.shift[0][head], layer.shift[1][head]
        weight, pulls = layer.weight[head], grad_out[1][head]
        for start in range(0, width, panel):
            size = min(panel, width - start)
            for group in range(begin, end):
                at, g = GROUP * group * code, grad_out[0][head, GROUP * group * out :]
                _take(layer.rows, sizes, group, start, size, s)
                product(scales[at:], expand_a[start:], code, width, size, a)
                product(shifts[at:], expand_b[start:], code, width, size, b)
                product(g, weight[start:], out, width, size, dots)
                _turn_back(s, a, b, dots, pulls[GROUP * group :], size, layer.slope)
                to_expand(scales[at:], a, code, width, size, expands[0, item, start:])
                to_expand(shifts[at:], b, code, width, size, expands[1, item, start:])
                to_expand(g, s, out, width, size, weights[item, start:])
                to_codes(expand_a[start:], a, code, width, size, spare, fours[0, head, at:])
                to_codes(expand_b[start:], b, code, width, size, spare, fours[1, head, at:])
                if values.size > 0:
                    _add_to(values, sizes, group, start, size, dots)
        for which in range(2):
            end_of = (codes[which], sizes.nodes, sizes.heads, head, sizes.bottleneck)
            found = fours[which, head, GROUP * begin * code :]
            untangle(found, (begin, end), code, *end_of)
