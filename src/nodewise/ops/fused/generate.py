"""Scales and shifts of one target in its active columns, and the gradient of their generator.

r = leaky_relu(expand @ code), which is a_v - 1 or b_v of Eq. 6. Eight columns are generated
together: lanes run along the code, and horizontal sums make one lane a column. Where all columns
are active, lanes run along the columns.

Layouts, all flat: `code` (nodes, heads, size), `expand` (heads, width, size), `size` a multiple of
8; `rows` (heads of a tile, padded) in the order of the active columns.

Speed is bound by the cache: `expand` is gathered row by row for every target.
"""

from __future__ import annotations

import numpy as np

from nodewise.ops.compiled import device
from nodewise.ops.fused.simd import (
    add,
    fma,
    full,
    get,
    horizontal_sums,
    leaky_relu,
    load,
    mul,
    size,
    store,
    where_positive,
    zeros,
)


@device
def _generate_active(code, at, expand, start, length, slope, active, count, spare, rows, row):
    """rows[row + c] = leaky_relu(expand[active[c]] . code), for `count` columns, by eight."""
    slope = full(slope)
    for c in range(0, count, 8):
        for i in range(8):
            p = start + length * np.int64(get(active, c + i))
            s = mul(load(expand, p), load(code, at))
            for k in range(8, length, 8):
                s = fma(load(expand, p + k), load(code, at + k), s)
            store(spare, 8 * i, s)
        store(rows, row + c, leaky_relu(horizontal_sums(spare, 0), slope))


@device
def _generate_all(code, at, columns_last, start, length, padded, slope, rows, row):
    """The same for all columns, lanes along these; `columns_last` is (heads, length, padded)."""
    slope = full(slope)
    for f in range(0, padded, 16):
        s = t = zeros(code)
        for k in range(length):
            c, p = full(get(code, at + k)), start + k * padded + f
            s, t = fma(c, load(columns_last, p), s), fma(c, load(columns_last, p + 8), t)
        store(rows, row + f, leaky_relu(s, slope))
        store(rows, row + f + 8, leaky_relu(t, slope))


@device
def generate(generator, blocks, width, v, first, tile, slope, scratch, count, rows):
    """Rows of target v for every head of a tile of blocks that begins with block `first`."""
    length, padded = generator.size, scratch.padded
    first_head, last_head = first // blocks.per_head, (first + tile - 1) // blocks.per_head
    for head in range(first_head, last_head + 1):
        at, row = (v * blocks.heads + head) * length, (head - first_head) * padded
        if size(generator.columns_last) > 0:
            table, start = generator.columns_last, head * length * padded
            _generate_all(generator.code, at, table, start, length, padded, slope, rows, row)
        else:
            where = (generator.code, at, generator.expand, head * width * length, length, slope)
            _generate_active(*where, scratch.active, count, scratch.spare, rows, row)


@device
def generate_backward(
    generator, blocks, width, v, first, tile, slope, active, count, padded, rows, grads
):
    """Accumulate the gradients of code and expand from those of a tile's rows; clears the latter.

    `grads` holds the gradients of the rows, of all codes and of expand.
    """
    grad_rows, grad_code, grad_expand = grads
    slope, zero, length = full(slope), zeros(rows), generator.size
    code, expand = generator.code, generator.expand
    first_head, last_head = first // blocks.per_head, (first + tile - 1) // blocks.per_head
    for head in range(first_head, last_head + 1):
        at, start = (v * blocks.heads + head) * length, head * width * length
        row = (head - first_head) * padded
        for c in range(row, row + count, 8):
            g = load(grad_rows, c)
            store(grad_rows, c, where_positive(load(rows, c), g, mul(g, slope)))
        for k in range(0, length, 8):
            code_k, of_code = load(code, at + k), zero
            for c in range(count):
                g = full(get(grad_rows, row + c))
                p = start + length * np.int64(get(active, c)) + k
                of_code = fma(g, load(expand, p), of_code)
                store(grad_expand, p, fma(g, code_k, load(grad_expand, p)))
            store(grad_code, at + k, add(load(grad_code, at + k), of_code))
        for c in range(row, row + count, 8):
            store(grad_rows, c, zero)
