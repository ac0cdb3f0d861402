"""Edge-level modulation z_uv * a_uv + b_uv (Eqs. 8 and 9) and its gradient.

a_uv = 1 + r_a and b_uv = r_b with r = leaky_relu(target half + source half): each end's half is
computed for every node beforehand, so one sweep over the edges does it all. Gradients of the target
halves are accumulated in the sweep; those of the source halves are left on the edges, to be summed
in the order of the sources. In the sums of squares an edge may have a weight: one that was
sampled stands for several.

Layouts, all flat: messages (E, width), halves (nodes, width), weights (E,), or empty for all ones.
Columns go by eight, the rest of them one by one.

Speed is bound by memory: two gathered rows and two streamed rows for an edge.
"""

from __future__ import annotations

from nodewise.ops.compiled import inlined, kernel
from nodewise.ops.fused.simd import (
    add,
    fma,
    full,
    get,
    horizontal_sum,
    leaky_relu,
    load,
    mul,
    prefetch,
    put,
    size,
    store,
    views,
    where_positive,
    zeros,
)

# How many edges ahead the halves of their sources are prefetched.
AHEAD = 8


@inlined
def _prefetch_source(scale_source, shift_source, source, edge, width):
    """Prefetch both halves of the source of an edge that comes soon."""
    if edge < size(source):
        prefetch(scale_source, get(source, edge) * width)
        prefetch(shift_source, get(source, edge) * width)


@inlined
def _weight(weight, e, one):
    """The weight of an edge in the sums of squares; an empty array is all ones."""
    return one if size(weight) == 0 else get(weight, e)


@inlined
def _leaky(target, i, source, j, slope):
    """leaky_relu of the sum of two halves, in eight columns."""
    return leaky_relu(add(load(target, i), load(source, j)), full(slope))


@inlined
def _modulate_target(z, halves, source, weight, begin, end, v, width, slope, one, out):
    """All messages to one target; returns the sums of squares of their scales and shifts."""
    scale_target, scale_source, shift_target, shift_source = halves
    lanes = width - width % 8
    squares_a = squares_b = zeros(z)
    square_a = square_b = 0.0
    for e in range(begin, end):
        u, at = get(source, e) * width, e * width
        _prefetch_source(scale_source, shift_source, source, e + AHEAD, width)
        w = _weight(weight, e, one)
        for o in range(0, lanes, 8):
            a = _leaky(scale_target, v * width + o, scale_source, u + o, slope)
            b = _leaky(shift_target, v * width + o, shift_source, u + o, slope)
            m = load(z, at + o)
            store(out, at + o, add(fma(m, a, m), b))
            squares_a = fma(mul(full(w), a), a, squares_a)
            squares_b = fma(mul(full(w), b), b, squares_b)
        for o in range(lanes, width):
            a = get(scale_target, v * width + o) + get(scale_source, u + o)
            b = get(shift_target, v * width + o) + get(shift_source, u + o)
            a *= one if a > 0 else slope
            b *= one if b > 0 else slope
            put(out, at + o, get(z, at + o) * (one + a) + b)
            square_a += w * a * a
            square_b += w * b * b
    return square_a + horizontal_sum(squares_a), square_b + horizontal_sum(squares_b)


@kernel
def forward(begin, end, part, chunks, z, halves, source, ptr, weight, width, slope, out, squares):
    """out = z * (1 + r_a) + r_b, and each chunk's weighted sums of r_a^2 and r_b^2.

    `halves` holds (scale target, scale source, shift target, shift source), each (nodes, width).
    """
    one, targets = z.dtype.type(1), ptr.size - 1
    z, halves, source, ptr, weight, out = views((z, halves, source, ptr, weight, out))
    for chunk in range(begin, end):
        for v in range(chunk * targets // chunks, (chunk + 1) * targets // chunks):
            edges = (get(ptr, v), get(ptr, v + 1))
            given = (z, halves, source, weight, *edges, v, width, slope, one, out)
            a, b = _modulate_target(*given)
            squares[chunk, 0] += a
            squares[chunk, 1] += b


@inlined
def _through_leaky(g, r, twice, slope):
    """The gradient of a sum of halves from that of r, the penalty's part (twice r) added."""
    g = fma(full(twice), r, g)
    return where_positive(r, g, mul(g, full(slope)))


@inlined
def _accumulate(view, i, lanes):
    store(view, i, add(load(view, i), lanes))


@inlined
def _backward_target(
    z, halves, source, weight, begin, end, v, width, slope, one, grad_out, twice, grads
):
    """Gradients of all messages to one target, and of its halves."""
    scale_target, scale_source, shift_target, shift_source = halves
    grad_z, grad_scale, grad_shift, grad_scale_target, grad_shift_target = grads
    lanes = width - width % 8
    for e in range(begin, end):
        u, at = get(source, e) * width, e * width
        _prefetch_source(scale_source, shift_source, source, e + AHEAD, width)
        w = _weight(weight, e, one)
        twice_a, twice_b = w * twice[0], w * twice[1]
        for o in range(0, lanes, 8):
            i = v * width + o
            a = _leaky(scale_target, i, scale_source, u + o, slope)
            b = _leaky(shift_target, i, shift_source, u + o, slope)
            g = load(grad_out, at + o)
            store(grad_z, at + o, fma(g, a, g))
            to_a = _through_leaky(mul(g, load(z, at + o)), a, twice_a, slope)
            to_b = _through_leaky(g, b, twice_b, slope)
            store(grad_scale, at + o, to_a)
            store(grad_shift, at + o, to_b)
            _accumulate(grad_scale_target, i, to_a)
            _accumulate(grad_shift_target, i, to_b)
        for o in range(lanes, width):
            i = v * width + o
            a = get(scale_target, i) + get(scale_source, u + o)
            b = get(shift_target, i) + get(shift_source, u + o)
            slope_a = one if a > 0 else slope
            slope_b = one if b > 0 else slope
            a, b, g = a * slope_a, b * slope_b, get(grad_out, at + o)
            put(grad_z, at + o, g * (one + a))
            to_a = (g * get(z, at + o) + twice_a * a) * slope_a
            to_b = (g + twice_b * b) * slope_b
            put(grad_scale, at + o, to_a)
            put(grad_shift, at + o, to_b)
            put(grad_scale_target, i, get(grad_scale_target, i) + to_a)
            put(grad_shift_target, i, get(grad_shift_target, i) + to_b)


@kernel
def backward(
    begin,
    end,
    part,
    chunks,
    z,
    halves,
    source,
    ptr,
    weight,
    width,
    slope,
    grad_out,
    grad_squares,
    grads,
):
    """Gradients of z, of both sums of halves on each edge, and of the target halves.

    `grad_squares` holds the gradients of both sums of squares.
    """
    one, targets = z.dtype.type(1), ptr.size - 1
    twice = (grad_squares[0] + grad_squares[0], grad_squares[1] + grad_squares[1])
    z, halves, source, ptr, weight = views((z, halves, source, ptr, weight))
    grad_out = views(grad_out)
    grads = views(grads)
    for v in range(begin * targets // chunks, end * targets // chunks):
        edges = (get(ptr, v), get(ptr, v + 1))
        given = (z, halves, source, weight, *edges, v, width, slope, one, grad_out)
        _backward_target(*given, twice, grads)
