"""From weights as they lie to tables with eight heads last, for `head_lanes`, and back.

Layouts, all flat: matrices (heads, inner, width), columns last, as W is, or (heads, width, inner),
columns first, as generators are; tables (groups, width, padded, 8), with zeros beyond `inner`.
Eight heads by eight numbers that lie side by side are turned together.
"""

from __future__ import annotations

from typing import NamedTuple

from nodewise.ops.compiled import kernel, part
from nodewise.ops.fused.simd import add, load, store, turn


class Shape(NamedTuple):
    """Of one kind of matrices; `padded` is that of their tables."""

    groups: int
    inner: int
    width: int
    padded: int


@part
def _columns_last(matrix, table, shape, group, f, back):
    """Up to eight columns from f on, of matrices (heads, inner, width)."""
    inner, width, padded = shape.inner, shape.width, shape.padded
    apart = inner * width
    for k in range(inner):
        at, to = (8 * group * inner + k) * width + f, ((group * width + f) * padded + k) * 8
        if f + 8 > width:
            for i in range(width - f):
                for head in range(8):
                    here, there = at + head * apart + i, to + 8 * i * padded + head
                    if back:
                        matrix[here] = table[there]
                    else:
                        table[there] = matrix[here]
        elif back:
            turn(table, to, 8 * padded, matrix, at, apart)
        else:
            turn(matrix, at, apart, table, to, 8 * padded)


@part
def _columns_first(matrix, table, shape, group, f, back):
    """Up to eight columns from f on, of matrices (heads, width, inner)."""
    inner, width, padded = shape.inner, shape.width, shape.padded
    apart = inner * width
    for column in range(f, min(f + 8, width)):
        first, to = (8 * group * width + column) * inner, (group * width + column) * padded * 8
        for k in range(0, inner, 8):
            if k + 8 > inner:
                for i in range(k, inner):
                    for head in range(8):
                        here, there = first + head * apart + i, to + 8 * i + head
                        if back:
                            matrix[here] = table[there]
                        else:
                            table[there] = matrix[here]
            elif back:
                turn(table, to + 8 * k, 8, matrix, first + k, apart)
            else:
                turn(matrix, first + k, apart, table, to + 8 * k, 8)


@part
def _pad(table, shape, group, f):
    """Zeros beyond what a matrix has, in up to eight columns from f on."""
    for column in range(f, min(f + 8, shape.width)):
        at = (group * shape.width + column) * shape.padded * 8
        table[at + 8 * shape.inner : at + 8 * shape.padded] = 0


@part
def _add_up(tables, shape, group, f):
    """Add up all tables in up to eight columns from f on, in the first of them."""
    begin = (group * shape.width + f) * shape.padded * 8
    end = begin + min(8, shape.width - f) * shape.padded * 8
    for cut in range(1, tables.shape[0]):
        for i in range(begin, end, 8):
            store(tables[0], i, add(load(tables[0], i), load(tables[cut], i)))


@kernel
def to_tables(first, last, own, weight, expands, shapes):
    """Fill the tables of (matrix, table) pairs: W's, and those of two generators.

    `shapes` are W's and the generators'; a piece of work is eight columns.
    """
    of_weight, of_expand = shapes
    for f in range(8 * first, 8 * last, 8):
        for group in range(of_weight.groups):
            _columns_last(weight[0], weight[1], of_weight, group, f, False)
            _pad(weight[1], of_weight, group, f)
            for matrix, table in expands:
                _columns_first(matrix, table, of_expand, group, f, False)
                _pad(table, of_expand, group, f)


@kernel
def from_tables(first, last, own, weight, expands, shapes):
    """The way back, from several tables (cuts, ...) each, whose sum is meant."""
    of_weight, of_expand = shapes
    for f in range(8 * first, 8 * last, 8):
        for group in range(of_weight.groups):
            _add_up(weight[1], of_weight, group, f)
            _columns_last(weight[0], weight[1][0], of_weight, group, f, True)
            for matrix, tables in expands:
                _add_up(tables, of_expand, group, f)
                _columns_first(matrix, tables[0], of_expand, group, f, True)
