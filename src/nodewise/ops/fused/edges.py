"""Edge-level modulation (Eqs. 8 and 9) on messages sorted by target, and its gradient.

Everything an edge needs of its ends are two rows of precomputed halves, so one sweep over the
edges does it all. Gradients of the targets' halves are added up in the sweep; those of the sources'
halves are left on the edges, to be summed in the order of the sources.
"""

from __future__ import annotations

from nodewise.ops.compiled import kernel


@kernel
def forward(first, last, part, chunks, z, ends, source, ptr, slope, out, squares):
    """out = z * (1 + r_a) + r_b with r = leaky_relu(target half + source half).

    `ends` holds (scale target, scale source, shift target, shift source), each (nodes, width).
    """
    scale_target, scale_source, shift_target, shift_source = ends
    targets, width = ptr.size - 1, z.shape[1]
    one = z.dtype.type(1)
    for chunk in range(first, last):
        square_a = square_b = 0.0
        for v in range(chunk * targets // chunks, (chunk + 1) * targets // chunks):
            for e in range(ptr[v], ptr[v + 1]):
                u = source[e]
                for o in range(width):
                    a = scale_target[v, o] + scale_source[u, o]
                    b = shift_target[v, o] + shift_source[u, o]
                    a *= one if a > 0 else slope
                    b *= one if b > 0 else slope
                    out[e, o] = z[e, o] * (one + a) + b
                    square_a += a * a
                    square_b += b * b
        squares[chunk, 0], squares[chunk, 1] = square_a, square_b


@kernel
def backward(
    first,
    last,
    part,
    chunks,
    z,
    ends,
    source,
    ptr,
    slope,
    grad_out,
    grad_squares,
    grad_z,
    grad_scale,
    grad_shift,
    grad_scale_target,
    grad_shift_target,
):
    """Gradients of z (E, width), of both sums on each edge, and of the targets' halves."""
    scale_target, scale_source, shift_target, shift_source = ends
    targets, width = ptr.size - 1, z.shape[1]
    one = z.dtype.type(1)
    twice_a, twice_b = 2 * grad_squares[0], 2 * grad_squares[1]
    for chunk in range(first, last):
        for v in range(chunk * targets // chunks, (chunk + 1) * targets // chunks):
            for e in range(ptr[v], ptr[v + 1]):
                u = source[e]
                for o in range(width):
                    a = scale_target[v, o] + scale_source[u, o]
                    b = shift_target[v, o] + shift_source[u, o]
                    bend_a = one if a > 0 else slope
                    bend_b = one if b > 0 else slope
                    a, b, g = a * bend_a, b * bend_b, grad_out[e, o]
                    grad_z[e, o] = g * (one + a)
                    to_a = (g * z[e, o] + twice_a * a) * bend_a
                    to_b = (g + twice_b * b) * bend_b
                    grad_scale[e, o] = to_a
                    grad_shift[e, o] = to_b
                    grad_scale_target[v, o] += to_a
                    grad_shift_target[v, o] += to_b
