"""Sums of sparse rows over neighbours, in places known beforehand, and their gradients.

A target's sum is scattered into a row of scratch space, read out in the columns it has, and
cleared. The way back spreads the gradient over that row, and every neighbour's entries pick it up.
"""

from __future__ import annotations

from nodewise.ops.compiled import kernel
from nodewise.ops.fused.simd import get


@kernel
def forward(first, last, own, chunks, rows, values, weight, source, ptr, pooled, out):
    """out = the entries of sum_u w_uv h_u, target by target.

    `rows` and `pooled` are (crow, col) of the neighbours' rows and of the sums. An empty `weight`
    is all ones; `own` is a row of zeros, and left so.
    """
    (crow, col), (out_crow, out_col) = rows, pooled
    targets, one = ptr.size - 1, values.dtype.type(1)
    for v in range(first * targets // chunks, last * targets // chunks):
        for e in range(ptr[v], ptr[v + 1]):
            w, u = one if weight.size == 0 else weight[e], source[e]
            for j in range(crow[u], crow[u + 1]):
                own[get(col, j)] += w * get(values, j)
        for k in range(out_crow[v], out_crow[v + 1]):
            f = get(out_col, k)
            out[k] = own[f]
            own[f] = 0


@kernel
def backward(
    first,
    last,
    own,
    chunks,
    rows,
    values,
    weight,
    source,
    ptr,
    pooled,
    grad,
    grad_values,
    grad_weight,
):
    """Gradients of the neighbours' entries, a copy for each chunk, and of the edges' weights.

    Either is left alone where it is empty.
    """
    (crow, col), (out_crow, out_col) = rows, pooled
    targets, one = ptr.size - 1, values.dtype.type(1)
    for chunk in range(first, last):
        for v in range(chunk * targets // chunks, (chunk + 1) * targets // chunks):
            for k in range(out_crow[v], out_crow[v + 1]):
                own[get(out_col, k)] = grad[k]
            for e in range(ptr[v], ptr[v + 1]):
                w, u = one if weight.size == 0 else weight[e], source[e]
                if grad_values.size > 0:
                    for j in range(crow[u], crow[u + 1]):
                        grad_values[chunk, j] += w * own[get(col, j)]
                if grad_weight.size > 0:
                    dot = grad.dtype.type(0)
                    for j in range(crow[u], crow[u + 1]):
                        dot += get(values, j) * own[get(col, j)]
                    grad_weight[e] = dot
            for k in range(out_crow[v], out_crow[v + 1]):
                own[get(out_col, k)] = 0


@kernel
def without_zeros(first, last, part, crow, col, values, kept_crow, kept_col, kept_values):
    """The entries that are not zero, moved together; row by row, and so in one piece of work."""
    if first < last:
        at = kept_crow[0] = 0
        for u in range(crow.size - 1):
            for j in range(crow[u], crow[u + 1]):
                # Without a branch, which would be mispredicted every other time.
                kept_col[at], kept_values[at] = get(col, j), get(values, j)
                at += get(values, j) != 0
            kept_crow[u + 1] = at
