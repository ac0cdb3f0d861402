"""Where cuts of the work begin, so that all of them take about as long: some nodes have more to do.

The cuts follow from sizes alone, like everything that says what is added to what.
"""

from __future__ import annotations

import numpy as np

from nodewise.ops.compiled import inlined, part

# A column of W_v is so many times the work of an entry that meets it.
_FORMED = 4
# What a row costs by itself, in entries.
_ROW = 4


@inlined
def _work_before(offsets, each_offset, more, each_more, each, v):
    return each_offset * np.int64(offsets[v]) + each_more * np.int64(more[v]) + each * v


@part
def _begin(offsets, each_offset, more, each_more, each, cut, cuts):
    """The first of as many nodes as `more` has, but one, that belongs to a cut.

    The work of all nodes before v is a sum of two offsets and of v itself, each times a number.
    """
    how = (offsets, each_offset, more, each_more, each)
    first, last = 0, more.size - 1
    if cut == cuts:
        return last
    wanted = cut * _work_before(*how, last) // cuts
    while first < last:
        middle = (first + last) // 2
        if _work_before(*how, middle) < wanted:
            first = middle + 1
        else:
            last = middle
    return first


@part
def first_target(rows, columns, ptr, cut, cuts):
    """Where a cut of the targets begins: by the columns of W_v, and by what edges bring."""
    entries = rows.width if rows.dense else rows.col.size // max(1, rows.crow.size - 1)
    if columns.ptr.size == 1:
        return _begin(ptr, entries, ptr, 0, _FORMED * columns.seen.size, cut, cuts)
    return _begin(columns.ptr, _FORMED, ptr, entries, 0, cut, cuts)


@part
def first_row(crow, cut, cuts):
    """Where a cut of sparse rows begins: by their entries."""
    return _begin(crow, 1, crow, 0, _ROW, cut, cuts)
