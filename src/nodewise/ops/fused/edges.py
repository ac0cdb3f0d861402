"""Edge-level modulation (Eqs. 8 and 9) on messages sorted by target, and its gradient.

Everything an edge needs of its ends are two rows of precomputed halves, so one sweep over the
edges does it all. Gradients of the targets' halves are added up in the sweep; those of the sources'
halves are left on the edges, to be summed in the order of the sources. Columns go by eight, and
what is left of them one by one. All arrays are flat, rows of `width` numbers.
"""

from __future__ import annotations

from nodewise.ops.compiled import inlined, kernel
from nodewise.ops.fused.simd import (
    add,
    fma,
    full,
    load,
    mul,
    prefetch,
    store,
    total,
    where_positive,
)

# How many edges ahead the rows at their sources are asked for.
AHEAD = 8


@inlined
def _ask_for_source(scale_source, shift_source, source, edge, width):
    """Have the memory bring both halves of the source of an edge that comes soon."""
    if edge < source.size:
        prefetch(scale_source, source[edge] * width)
        prefetch(shift_source, source[edge] * width)


@inlined
def _leaky(target, i, source, j, slope):
    """leaky_relu of the sum of two halves, in eight columns."""
    r = add(load(target, i), load(source, j))
    return where_positive(r, r, mul(r, full(slope)))


@inlined
def _modulate_target(z, ends, source, edges, v, width, slope, out):
    """All messages to one target; returns the sums of squares of their scales and shifts."""
    scale_target, scale_source, shift_target, shift_source = ends
    one, lanes = z.dtype.type(1), width - width % 8
    squares_a = squares_b = full(z.dtype.type(0))
    square_a = square_b = 0.0
    for e in range(*edges):
        u, at = source[e] * width, e * width
        _ask_for_source(scale_source, shift_source, source, e + AHEAD, width)
        for o in range(0, lanes, 8):
            a = _leaky(scale_target, v * width + o, scale_source, u + o, slope)
            b = _leaky(shift_target, v * width + o, shift_source, u + o, slope)
            m = load(z, at + o)
            store(out, at + o, add(fma(m, a, m), b))
            squares_a, squares_b = fma(a, a, squares_a), fma(b, b, squares_b)
        for o in range(lanes, width):
            a = scale_target[v * width + o] + scale_source[u + o]
            b = shift_target[v * width + o] + shift_source[u + o]
            a *= one if a > 0 else slope
            b *= one if b > 0 else slope
            out[at + o] = z[at + o] * (one + a) + b
            square_a += a * a
            square_b += b * b
    return square_a + total(squares_a), square_b + total(squares_b)


@kernel
def forward(first, last, part, chunks, z, ends, source, ptr, width, slope, out, squares):
    """out = z * (1 + r_a) + r_b with r = leaky_relu(target half + source half).

    `ends` holds (scale target, scale source, shift target, shift source), each (nodes, width).
    """
    targets = ptr.size - 1
    for chunk in range(first, last):
        for v in range(chunk * targets // chunks, (chunk + 1) * targets // chunks):
            edges = (ptr[v], ptr[v + 1])
            a, b = _modulate_target(z, ends, source, edges, v, width, slope, out)
            squares[chunk, 0] += a
            squares[chunk, 1] += b


@inlined
def _bent(g, r, twice, slope):
    """d/d(sum of halves) from d/dr, r = leaky_relu, in eight columns; the penalty's part added."""
    g = fma(full(twice), r, g)
    return where_positive(r, g, mul(g, full(slope)))


@inlined
def _backward_target(z, ends, source, edges, v, width, slope, grad_out, twice, grads):
    """Gradients of all messages to one target, and of its own halves."""
    scale_target, scale_source, shift_target, shift_source = ends
    grad_z, grad_scale, grad_shift, grad_scale_target, grad_shift_target = grads
    one, lanes = z.dtype.type(1), width - width % 8
    for e in range(*edges):
        u, at = source[e] * width, e * width
        _ask_for_source(scale_source, shift_source, source, e + AHEAD, width)
        for o in range(0, lanes, 8):
            i = v * width + o
            a = _leaky(scale_target, i, scale_source, u + o, slope)
            b = _leaky(shift_target, i, shift_source, u + o, slope)
            g = load(grad_out, at + o)
            store(grad_z, at + o, fma(g, a, g))
            to_a = _bent(mul(g, load(z, at + o)), a, twice[0], slope)
            to_b = _bent(g, b, twice[1], slope)
            store(grad_scale, at + o, to_a)
            store(grad_shift, at + o, to_b)
            store(grad_scale_target, i, add(load(grad_scale_target, i), to_a))
            store(grad_shift_target, i, add(load(grad_shift_target, i), to_b))
        for o in range(lanes, width):
            a = scale_target[v * width + o] + scale_source[u + o]
            b = shift_target[v * width + o] + shift_source[u + o]
            bend_a = one if a > 0 else slope
            bend_b = one if b > 0 else slope
            a, b, g = a * bend_a, b * bend_b, grad_out[at + o]
            grad_z[at + o] = g * (one + a)
            to_a = (g * z[at + o] + twice[0] * a) * bend_a
            to_b = (g + twice[1] * b) * bend_b
            grad_scale[at + o] = to_a
            grad_shift[at + o] = to_b
            grad_scale_target[v * width + o] += to_a
            grad_shift_target[v * width + o] += to_b


@kernel
def backward(
    first, last, part, chunks, z, ends, source, ptr, width, slope, grad_out, grad_squares, grads
):
    """Gradients of z (E, width), of both sums on each edge, and of the targets' halves."""
    targets = ptr.size - 1
    twice = (grad_squares[0] + grad_squares[0], grad_squares[1] + grad_squares[1])
    for v in range(first * targets // chunks, last * targets // chunks):
        edges = (ptr[v], ptr[v + 1])
        _backward_target(z, ends, source, edges, v, width, slope, grad_out, twice, grads)
