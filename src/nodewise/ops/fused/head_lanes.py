"""Localized messages of eight heads at a time, every lane a head.

What `messages` does, for heads that come in eights: generators and W_v are then products of whole
vectors, and only the features are spread over lanes. Without DropConnect, whose masks run along a
head.

Messages of sparse rows take no W_v, since few rows meet the same column of it: W_v h_u =
W (a_v * h_u) + (b_v . h_u) 1, and with a lane for each head the scaled feature is one product for
all outputs, the shift one sum. Dense rows all meet all columns, so W_v is formed for them.

Layouts, all flat, the eight heads of a group last: `weight` (groups, width, out, 8) with `out` a
multiple of 8, padded by zeros; W_v and its gradient T_v (columns in use, out, 8); scales and shifts
as `head_uses` makes them, for a block of targets at a time. Codes are (nodes, heads, size) and
messages (E, heads, out) as ever.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodewise.ops.compiled import inlined, kernel, part
from nodewise.ops.fused.fours import add_four, fma_four, load_four, store_four
from nodewise.ops.fused.head_uses import (
    Block,
    Uses,
    edges_of,
    generate,
    next_block,
    sort_uses,
    span,
    to_lanes,
)
from nodewise.ops.fused.layer import Columns, Floats, Ints, Rows, ask_for_row, row_bounds
from nodewise.ops.fused.simd import add, fma, full, get, load, store, turn


class Sizes(NamedTuple):
    """Groups of eight heads, outputs of a head (padded, and as they are), size of the codes."""

    groups: int
    out: int
    real: int
    code: int


class HeadLayer(NamedTuple):
    """Everything a pass needs; `scale` and `shift` are (code, expand)."""

    rows: Rows
    columns: Columns
    weight: Floats
    scale: tuple[Floats, Floats]
    shift: tuple[Floats, Floats]
    sizes: Sizes
    slope: float
    source: Ints
    ptr: Ints


class Visits(NamedTuple):
    """What `head_columns` needs for a block: its visits, column by column, and what they pull at.

    Those of column f end at `ends[f]`; `of_made`, what pulls at `made` in one column, is left zero;
    `pulls` are the gradients of messages.
    """

    where: NDArray[np.int32]
    ends: NDArray[np.int32]
    of_made: Floats
    pulls: Floats


class HeadScratch(NamedTuple):
    """One thread's buffers, for one group.

    For a block of targets, `codes` and `grad_codes` (targets, size, 8) of scales and of shifts, and
    `made` (uses, 2, 8). For one target, `local` for W_v and `gathered` for T_v, which is left zero,
    and `slot`, where each of its columns is.
    """

    codes: tuple[Floats, Floats]
    grad_codes: tuple[Floats, Floats]
    made: Floats
    local: Floats
    gathered: Floats
    spare: Floats
    slot: NDArray[np.int32]
    uses: Uses
    visits: Visits


@inlined
def start_of(ptr, begin):
    """An empty block before a target."""
    edge = np.int64(ptr[begin])
    return Block(begin, begin, edge, edge)


@inlined
def has_more(ptr, block, end):
    """Whether anything comes after a block."""
    return block.end < end or block.last_edge < ptr[end]


@part
def make_block(layer, block, group, end, room, own):
    """The next block, and its scales and shifts."""
    rows, sizes = layer.rows, layer.sizes
    block = next_block(rows, layer.columns, layer.source, layer.ptr, block, end, room)
    sort_uses(layer.columns, block, own.uses)
    to_lanes(layer.scale[0], sizes.groups, group, sizes.code, block, own.codes[0])
    to_lanes(layer.shift[0], sizes.groups, group, sizes.code, block, own.codes[1])
    expands, first = (layer.scale[1], layer.shift[1]), group * rows.width
    generate(own.codes, expands, first, sizes.code, layer.slope, own.uses, own.made)
    return block


@part
def find_slots(columns, v, place, order, slot):
    """Which use each of a target's columns is; returns the place of the next target's first."""
    begin, count = span(columns, v)
    for c in range(count):
        slot[get(columns.seen, begin + c)] = get(order, place + c)
    return place + count


@part
def form(weight, out, first, columns, v, made, order, place, local):
    """W_v (Eq. 4), W * a + b in the columns in use."""
    begin, count = span(columns, v)
    for c in range(count):
        use = 16 * get(order, place + c)
        a, b = add(load(made, use), full(weight.dtype.type(1))), load(made, use + 8)
        p = 8 * out * (first + np.int64(get(columns.seen, begin + c)))
        for o in range(0, 8 * out, 8):
            store(local, 8 * out * c + o, fma(load(weight, p + o), a, b))


@inlined
def _project(weight, made, rows, slot, u, stride, first, spare):
    """Eight outputs of W_v h_u for eight heads, into `spare`."""
    begin, end, _ = row_bounds(rows, u)
    shifted = zero = full(weight.dtype.type(0))
    a = b = (zero, zero, zero, zero)
    for j in range(begin, end):
        x, f = full(get(rows.values, j)), get(rows.col, j)
        c, p = 16 * get(slot, f), stride * f + first
        scaled, shifted = fma(x, load(made, c), x), fma(x, load(made, c + 8), shifted)
        a = fma_four(scaled, load_four(weight, p, 8), a)
        b = fma_four(scaled, load_four(weight, p + 32, 8), b)
    store_four(spare, 0, 8, add_four(shifted, a))
    store_four(spare, 32, 8, add_four(shifted, b))


@inlined
def _project_rows(local, values, width, p, q, stride, first, spare):
    """The same for two dense rows, which begin at p and q, from W_v, read once for both."""
    zero = full(local.dtype.type(0))
    a = b = c = d = (zero, zero, zero, zero)
    for f in range(width):
        at = stride * f + first
        some, others = load_four(local, at, 8), load_four(local, at + 32, 8)
        x, y = full(get(values, p + f)), full(get(values, q + f))
        a, b = fma_four(x, some, a), fma_four(x, others, b)
        c, d = fma_four(y, some, c), fma_four(y, others, d)
    store_four(spare, 0, 8, a)
    store_four(spare, 32, 8, b)
    store_four(spare, 64, 8, c)
    store_four(spare, 96, 8, d)


@inlined
def _write(spare, start, messages, at, first, real):
    """Eight outputs of eight heads to where a group's message begins, heads first."""
    if real == 8:
        turn(spare, start, 8, messages, at, 8)
    else:
        for o in range(min(8, real - first)):
            for head in range(8):
                messages[at + head * real + first + o] = spare[start + 8 * o + head]


@part
def _send_sparse(rows, slot, sizes, group, edges, source, weight, made, messages, spare):
    """Messages from the sparse rows of all sources to one target, along some `edges`."""
    stride = 8 * sizes.out
    for edge in range(*edges):
        ask_for_row(rows, source, edge + 1)
        at = 8 * (edge * sizes.groups + group) * sizes.real
        for first in range(0, sizes.out, 8):
            where = (stride, stride * group * rows.width + 8 * first, spare)
            _project(weight, made, rows, slot, source[edge], *where)
            _write(spare, 0, messages, at, first, sizes.real)


@part
def _send_dense(rows, sizes, group, edges, source, local, messages, spare):
    """The same from dense rows, two at a time."""
    begin, end = edges
    stride, apart = 8 * sizes.out, 8 * sizes.groups * sizes.real
    for edge in range(begin, end, 2):
        ask_for_row(rows, source, edge + 1)
        at = 8 * (edge * sizes.groups + group) * sizes.real
        p, q = source[edge] * rows.width, source[min(edge + 1, end - 1)] * rows.width
        for first in range(0, sizes.out, 8):
            _project_rows(local, rows.values, rows.width, p, q, stride, 8 * first, spare)
            _write(spare, 0, messages, at, first, sizes.real)
            if edge + 1 < end:
                _write(spare, 64, messages, at + apart, first, sizes.real)


@kernel
def forward(first, last, own, layer, bounds, room, messages):
    """Fill `messages` (E, heads, out); a piece of work is a group for some of the targets."""
    rows, columns, sizes, ptr = layer.rows, layer.columns, layer.sizes, layer.ptr
    cuts = bounds.size - 1
    for piece in range(first, last):
        group, cut = piece // cuts, piece % cuts
        block = start_of(ptr, bounds[cut])
        while has_more(ptr, block, bounds[cut + 1]):
            block = make_block(layer, block, group, bounds[cut + 1], room, own)
            place = np.int64(0)
            for v in range(block.begin, block.end):
                where = (sizes, group, edges_of(ptr, block, v), layer.source)
                if rows.dense:
                    which = (sizes.out, group * rows.width, columns, v)
                    form(layer.weight, *which, own.made, own.uses.order, place, own.local)
                    _send_dense(rows, *where, own.local, messages, own.spare)
                    place += rows.width
                else:
                    place = find_slots(columns, v, place, own.uses.order, own.slot)
                    given = (layer.weight, own.made)
                    _send_sparse(rows, own.slot, *where, *given, messages, own.spare)
