"""Both generators and W, column by column, in one table, for `own_sparse`; and the way back.

Layouts, all flat: `expands`, both generators' matrices (heads, width, code), and W (heads, outputs,
width), as they lie; `table` (heads, width, 2 size + out), with `size` and `out` multiples of 8,
padded by zeros. In a column of the table, four numbers of the scales' generator alternate with four
of the shifts': eight lanes then make a scale and a shift at once.
"""

from __future__ import annotations

from typing import NamedTuple

from nodewise.ops.compiled import inlined, kernel, part
from nodewise.ops.fused.simd import add, load, lower_halves, store, turn, upper_halves


class Shape(NamedTuple):
    """Of the matrices, as they are and padded."""

    heads: int
    width: int
    code: int
    outputs: int
    size: int
    out: int


@inlined
def among(k):
    """Where among both generators' numbers the scales' k-th is; the shifts' comes four later."""
    return 2 * k - k % 4


@part
def _take_expands(expands, shape, head, f, table, p):
    """Both generators' rows of one column, to where it begins in a table."""
    (scale, shift), code, at = expands, shape.code, (head * shape.width + f) * shape.code
    if code == shape.size:
        for k in range(0, code, 8):
            a, b = load(scale, at + k), load(shift, at + k)
            store(table, p + 2 * k, lower_halves(a, b))
            store(table, p + 2 * k + 8, upper_halves(a, b))
    else:
        for k in range(shape.size):
            table[p + among(k)] = scale[at + k] if k < code else 0
            table[p + among(k) + 4] = shift[at + k] if k < code else 0


@part
def _give_expands(table, p, shape, head, f, expands):
    """The way back."""
    (scale, shift), code, at = expands, shape.code, (head * shape.width + f) * shape.code
    if code == shape.size:
        for k in range(0, code, 8):
            a, b = load(table, p + 2 * k), load(table, p + 2 * k + 8)
            store(scale, at + k, lower_halves(a, b))
            store(shift, at + k, upper_halves(a, b))
    else:
        for k in range(code):
            scale[at + k], shift[at + k] = table[p + among(k)], table[p + among(k) + 4]


@part
def _take_weight(weight, shape, head, f, table, p, stride):
    """Up to eight columns of W from f on, to tables that begin at p and are so far apart."""
    whole = f + 8 <= shape.width
    for o in range(0, shape.out, 8):
        at = (head * shape.outputs + o) * shape.width + f
        if whole and o + 8 <= shape.outputs:
            turn(weight, at, shape.width, table, p + o, stride)
            continue
        for i in range(min(8, shape.width - f)):
            for row in range(8):
                inside = o + row < shape.outputs
                table[p + i * stride + o + row] = (
                    weight[at + row * shape.width + i] if inside else 0
                )


@part
def _give_weight(table, p, stride, shape, head, f, weight):
    """The way back."""
    whole = f + 8 <= shape.width
    for o in range(0, shape.outputs, 8):
        at = (head * shape.outputs + o) * shape.width + f
        if whole and o + 8 <= shape.outputs:
            turn(table, p + o, stride, weight, at, shape.width)
            continue
        for i in range(min(8, shape.width - f)):
            for row in range(min(8, shape.outputs - o)):
                weight[at + row * shape.width + i] = table[p + i * stride + o + row]


@kernel
def to_table(first, last, own, expands, weight, shape, table):
    """Fill a table; a piece of work is eight columns."""
    stride = 2 * shape.size + shape.out
    for head in range(shape.heads):
        for f in range(8 * first, 8 * last, 8):
            p = (head * shape.width + f) * stride
            for i in range(min(8, shape.width - f)):
                _take_expands(expands, shape, head, f + i, table, p + i * stride)
            _take_weight(weight, shape, head, f, table, p + 2 * shape.size, stride)


@kernel
def from_tables(first, last, own, tables, shape, expands, weight):
    """The way back, from several tables (cuts, ...) whose sum is meant; it takes the first's place.

    A piece of work is eight columns.
    """
    stride = 2 * shape.size + shape.out
    for head in range(shape.heads):
        for f in range(8 * first, 8 * last, 8):
            p, columns = (head * shape.width + f) * stride, min(8, shape.width - f)
            for cut in range(1, tables.shape[0]):
                for i in range(p, p + columns * stride, 8):
                    store(tables[0], i, add(load(tables[0], i), load(tables[cut], i)))
            for i in range(columns):
                _give_expands(tables[0], p + i * stride, shape, head, f + i, expands)
            _give_weight(tables[0], p + 2 * shape.size, stride, shape, head, f, weight)
