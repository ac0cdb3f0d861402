"""Where cuts of the work begin, so that all of them take about as long: some nodes have more to do.

The cuts follow from sizes alone, like everything that says what is added to what.
"""

from __future__ import annotations

import numpy as np

from nodewise.ops.compiled import kernel
from nodewise.ops.fused.layer import Columns, Ints, Rows

# A column of W_v is so many times the work of an entry that meets it.
_FORMED = 4
# What a row costs by itself, in entries.
_ROW = 4


@kernel
def _fill(offsets, each_offset, more, each_more, each, bounds):
    """Fill `bounds` with the first nodes of all cuts, and with the number of nodes.

    The work of all nodes before v is a sum of two offsets and of v itself, each times a number.
    """
    cuts, nodes = bounds.size - 1, more.size - 1
    work, v = each_offset * offsets[nodes] + each_more * more[nodes] + each * nodes, 0
    for cut in range(cuts):
        while each_offset * offsets[v] + each_more * more[v] + each * v < cut * work // cuts:
            v += 1
        bounds[cut] = v
    bounds[cuts] = nodes


def cut_targets(rows: Rows, columns: Columns, ptr: Ints, cuts: int) -> Ints:
    """The bounds of some cuts of the targets: by the columns of W_v, and by what edges bring."""
    bounds = np.empty(cuts + 1, np.int64)
    entries = rows.width if rows.dense else rows.col.size // max(1, rows.crow.size - 1)
    if columns.ptr.size == 1:
        _fill(ptr, entries, ptr, 0, _FORMED * columns.seen.size, bounds)
    else:
        _fill(columns.ptr, _FORMED, ptr, entries, 0, bounds)
    return bounds


def cut_rows(crow: Ints, cuts: int) -> Ints:
    """The bounds of some cuts of sparse rows: by their entries."""
    bounds = np.empty(cuts + 1, np.int64)
    _fill(crow, 1, crow, 0, _ROW, bounds)
    return bounds
