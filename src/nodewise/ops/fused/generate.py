"""Scale and shift rows, four target nodes at a time, and the two products of their gradient.

r = leaky_relu(expand @ code) is what a scale adds to one and what a shift is (Eq. 6). Rows live in
a buffer of the size of four nodes and are overwritten by the next four: nothing of size N x d0 is
ever stored. Four nodes by sixteen features keep eight accumulators busy, which is what hides the
latency of a fused multiply-add.

Layouts, all flat: `expand` (bottleneck, width), `code` (4, bottleneck), rows (4, width), with
`width` a multiple of 16 and `bottleneck` of 2, padded by zeros.
"""

from __future__ import annotations

from nodewise.ops.compiled import part
from nodewise.ops.fused.simd import add, fma, full, load, mul, store, total, where_positive

GROUP = 4


@part
def _activate(rows, at, s, slope, squares):
    r = where_positive(s, s, mul(s, slope))
    store(rows, at, r)
    return fma(r, r, squares)


@part
def generate(expand, start, code, bottleneck, width, slope, rows):
    """Fill `rows` with leaky_relu(expand @ code) of four nodes; return the sum of squares."""
    zero = full(code.dtype.type(0))
    bend = full(slope)
    squares = zero
    for f in range(0, width, 16):
        a0 = a1 = b0 = b1 = c0 = c1 = d0 = d1 = zero
        for k in range(bottleneck):
            p0 = load(expand, start + k * width + f)
            p1 = load(expand, start + k * width + f + 8)
            t = full(code[k])
            a0, a1 = fma(t, p0, a0), fma(t, p1, a1)
            t = full(code[bottleneck + k])
            b0, b1 = fma(t, p0, b0), fma(t, p1, b1)
            t = full(code[2 * bottleneck + k])
            c0, c1 = fma(t, p0, c0), fma(t, p1, c1)
            t = full(code[3 * bottleneck + k])
            d0, d1 = fma(t, p0, d0), fma(t, p1, d1)
        squares = _activate(rows, f, a0, bend, squares)
        squares = _activate(rows, f + 8, a1, bend, squares)
        squares = _activate(rows, width + f, b0, bend, squares)
        squares = _activate(rows, width + f + 8, b1, bend, squares)
        squares = _activate(rows, 2 * width + f, c0, bend, squares)
        squares = _activate(rows, 2 * width + f + 8, c1, bend, squares)
        squares = _activate(rows, 3 * width + f, d0, bend, squares)
        squares = _activate(rows, 3 * width + f + 8, d1, bend, squares)
    return total(squares)


@part
def through_activation(rows, grad_rows, grad_squares, slope, count):
    """Turn d/dr into d/d(expand @ code) in place, adding what the sum of squares asks for."""
    twice = full(grad_squares + grad_squares)
    bend = full(slope)
    for f in range(0, count, 8):
        r = load(rows, f)
        g = fma(twice, r, load(grad_rows, f))
        store(grad_rows, f, where_positive(r, g, mul(g, bend)))


@part
def grad_code(expand, start, grad_rows, bottleneck, width, out):
    """d/d code of four nodes: out[j, k] = sum over f of grad_rows[j, f] expand[k, f]."""
    zero = full(grad_rows.dtype.type(0))
    for k in range(0, bottleneck, 2):
        a0 = a1 = b0 = b1 = c0 = c1 = d0 = d1 = zero
        for f in range(0, width, 8):
            p0 = load(expand, start + k * width + f)
            p1 = load(expand, start + (k + 1) * width + f)
            g = load(grad_rows, f)
            a0, a1 = fma(g, p0, a0), fma(g, p1, a1)
            g = load(grad_rows, width + f)
            b0, b1 = fma(g, p0, b0), fma(g, p1, b1)
            g = load(grad_rows, 2 * width + f)
            c0, c1 = fma(g, p0, c0), fma(g, p1, c1)
            g = load(grad_rows, 3 * width + f)
            d0, d1 = fma(g, p0, d0), fma(g, p1, d1)
        out[k], out[k + 1] = total(a0), total(a1)
        out[bottleneck + k], out[bottleneck + k + 1] = total(b0), total(b1)
        out[2 * bottleneck + k], out[2 * bottleneck + k + 1] = total(c0), total(c1)
        out[3 * bottleneck + k], out[3 * bottleneck + k + 1] = total(d0), total(d1)


@part
def add_grad_expand(code, grad_rows, bottleneck, width, out, start):
    """d/d expand, added: out[k, f] += sum over four nodes j of code[j, k] grad_rows[j, f]."""
    for k in range(0, bottleneck, 2):
        a0, a1 = full(code[k]), full(code[k + 1])
        b0, b1 = full(code[bottleneck + k]), full(code[bottleneck + k + 1])
        c0, c1 = full(code[2 * bottleneck + k]), full(code[2 * bottleneck + k + 1])
        d0, d1 = full(code[3 * bottleneck + k]), full(code[3 * bottleneck + k + 1])
        for f in range(0, width, 8):
            g0, g1 = load(grad_rows, f), load(grad_rows, width + f)
            g2, g3 = load(grad_rows, 2 * width + f), load(grad_rows, 3 * width + f)
            at0, at1 = start + k * width + f, start + (k + 1) * width + f
            s0 = fma(a0, g0, fma(b0, g1, fma(c0, g2, mul(d0, g3))))
            s1 = fma(a1, g0, fma(b1, g1, fma(c1, g2, mul(d1, g3))))
            store(out, at0, add(load(out, at0), s0))
            store(out, at1, add(load(out, at1), s1))
