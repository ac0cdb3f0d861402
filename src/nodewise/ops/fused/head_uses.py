"""Scales and shifts of eight heads at a time, every lane a head, column by column.

Generators' tables for eight heads are large, and so are their gradients: read and written again
wherever a target uses a column, they would come from beyond a core's innermost cache each time. So
all uses of a block of targets are sorted by column first: a column's row of the table and of its
gradient are then taken once for the whole block, and wait in registers while the codes of its
targets, which are few and close, pass by.

Layouts, all flat, the eight heads of a group last: `expand` (groups, width, size, 8) with `size` a
multiple of 8, padded by zeros; codes of a block (targets, size, 8); `made`, a scale and a shift for
each of the sorted uses, (uses, 2, 8).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodewise.ops.compiled import inlined, part
from nodewise.ops.fused.fours import fma_four, load_four, store_four
from nodewise.ops.fused.layer import row_bounds
from nodewise.ops.fused.simd import add, fma, full, get, load, mul, store, turn, where_positive


class Block(NamedTuple):
    """Some targets, and edges to them.

    Of the first one, some edges may have come before; of one that is alone, some may come after.
    """

    begin: int
    end: int
    first_edge: int
    last_edge: int


class Room(NamedTuple):
    """How much a block has at most: enough for any one target's uses and any one edge's visits."""

    targets: int
    uses: int
    edges: int
    visits: int


class Uses(NamedTuple):
    """In which columns a block's targets need W_v, column by column.

    Those of column f end at `ends[f]`, where those of the next one begin; `target` is counted from
    the block's first. Target by target, the uses are at `order[0]`, `order[1]` and so on.
    """

    ends: NDArray[np.int32]
    target: NDArray[np.int32]
    order: NDArray[np.int32]


@inlined
def span(columns, v):
    """Where among all columns in use those of a target begin, and how many it has."""
    if columns.ptr.size == 1:
        return np.int64(0), columns.seen.size
    return np.int64(columns.ptr[v]), np.int64(columns.ptr[v + 1] - columns.ptr[v])


@part
def _fitting(rows, source, first, last, edges, visits):
    """The end of those edges that find room, and how many visits they bring."""
    taken, edge = np.int64(0), first
    while edge < min(last, first + edges):
        begin, end, _ = row_bounds(rows, source[edge])
        if taken + end - begin > visits:
            break
        taken += end - begin
        edge += 1
    return edge, taken


@part
def next_block(rows, columns, source, ptr, last_block, end, room):
    """As many edges that are left of the last block, and targets after it, as find room.

    Targets with all their edges, but for the first, which has as many as find room.
    """
    begin, first = last_block.end, last_block.last_edge
    if last_block.begin < begin and first < ptr[begin]:
        begin -= 1
    v, edge, uses, visits = begin, first, np.int64(0), np.int64(0)
    while v < end and v - begin < room.targets:
        uses += span(columns, v)[1]
        room_left = (room.edges - (edge - first), room.visits - visits)
        last, taken = _fitting(rows, source, edge, ptr[v + 1], *room_left)
        if v > begin and (uses > room.uses or last < ptr[v + 1]):
            break
        v, edge, visits = v + 1, last, visits + taken
    return Block(begin, v, first, edge)


@part
def sort_uses(columns, block, uses):
    """List the uses of a block's targets column by column: count them, then lay them out."""
    ends = uses.ends
    ends[:] = 0
    for v in range(block.begin, block.end):
        begin, count = span(columns, v)
        for c in range(begin, begin + count):
            ends[get(columns.seen, c)] += 1
    to_begins(ends)
    place = 0
    for v in range(block.begin, block.end):
        begin, count = span(columns, v)
        for c in range(begin, begin + count):
            f = get(columns.seen, c)
            at = get(ends, f)
            uses.target[at], uses.order[place], ends[f] = v - block.begin, at, at + 1
            place += 1


@part
def to_begins(counts):
    """From how many there are of each to where they begin, which laying them out turns to ends."""
    before = 0
    for f in range(counts.size):
        counts[f], before = before, before + counts[f]


@inlined
def edges_of(ptr, block, v):
    """A target's edges in this block."""
    return max(ptr[v], block.first_edge), min(ptr[v + 1], block.last_edge)


@part
def to_lanes(code, groups, group, size, block, lanes):
    """The codes of a block's targets for eight heads, (8, size) each, as (size, 8)."""
    for v in range(block.begin, block.end):
        at, to = 8 * (v * groups + group) * size, 8 * (v - block.begin) * size
        for k in range(0, size, 8):
            turn(code, at + k, size, lanes, to + 8 * k, 8)


@part
def from_lanes(lanes, groups, group, size, block, code):
    """The way back."""
    for v in range(block.begin, block.end):
        at, to = 8 * (v * groups + group) * size, 8 * (v - block.begin) * size
        for k in range(0, size, 8):
            turn(lanes, to + 8 * k, 8, code, at + k, size)


@inlined
def _dot_four(four, array, at):
    """The sum of four products of vectors with those of a flat array."""
    s = fma(four[0], load(array, at), mul(four[1], load(array, at + 8)))
    return fma(four[2], load(array, at + 16), fma(four[3], load(array, at + 24), s))


@part
def generate(codes, expands, first, size, slope, uses, made):
    """made = leaky_relu(expand[f] . code) wherever a column f is in use, both kinds (Eq. 6).

    Eight numbers of a code at a time. `first` is the group's first column among all groups'.
    """
    bend, last = full(slope), 8 * size - 64
    for k in range(0, 8 * size, 64):
        use = 0
        for f in range(uses.ends.size):
            end, p = get(uses.ends, f), 8 * size * (first + f) + k
            if use < end:
                a, b = load_four(expands[0], p, 8), load_four(expands[0], p + 32, 8)
                c, d = load_four(expands[1], p, 8), load_four(expands[1], p + 32, 8)
                while use < end:
                    at = 8 * size * get(uses.target, use) + k
                    s = add(_dot_four(a, codes[0], at), _dot_four(b, codes[0], at + 32))
                    t = add(_dot_four(c, codes[1], at), _dot_four(d, codes[1], at + 32))
                    if k > 0:
                        s, t = add(load(made, 16 * use), s), add(load(made, 16 * use + 8), t)
                    if k == last:
                        s = where_positive(s, s, mul(s, bend))
                        t = where_positive(t, t, mul(t, bend))
                    store(made, 16 * use, s)
                    store(made, 16 * use + 8, t)
                    use += 1


@part
def generate_backward(code, expand, first, size, uses, made, which, grad_code, grad_expand):
    """From `made`, now the gradients of expand @ code, to those of both, which are added to.

    `which` is 0 for scales, 8 for shifts.
    """
    for k in range(0, 8 * size, 64):
        use = 0
        for f in range(uses.ends.size):
            end, p = get(uses.ends, f), 8 * size * (first + f) + k
            if use < end:
                some, others = load_four(expand, p, 8), load_four(expand, p + 32, 8)
                sums, more = load_four(grad_expand, p, 8), load_four(grad_expand, p + 32, 8)
                while use < end:
                    at, g = 8 * size * get(uses.target, use) + k, load(made, 16 * use + which)
                    sums = fma_four(g, load_four(code, at, 8), sums)
                    more = fma_four(g, load_four(code, at + 32, 8), more)
                    pulled = fma_four(g, some, load_four(grad_code, at, 8))
                    store_four(grad_code, at, 8, pulled)
                    pulled = fma_four(g, others, load_four(grad_code, at + 32, 8))
                    store_four(grad_code, at + 32, 8, pulled)
                    use += 1
                store_four(grad_expand, p, 8, sums)
                store_four(grad_expand, p + 32, 8, more)
