"""Gradients of eight heads' messages, every lane a head, column by column.

A visit is a feature that an edge brings. All visits along the edges of a block are sorted by column
first: a column's weights and their gradient are then taken once for the whole block, and wait in
registers while the visits pass by, each with g, the gradient of its edge's message. With q = W^T g
in that column, x q pulls at the scale, x (1 . g) at the shift, a x g at W, and a q + b (1 . g) at
the feature x itself. `head_backward` does less for every visit and nothing before, but more for
every column of every T_v.
"""

from __future__ import annotations

import numpy as np

from nodewise.ops.compiled import inlined, kernel, part
from nodewise.ops.fused.fours import fma_four, load_four, store_four
from nodewise.ops.fused.head_backward import clear, read_pull, spend_block
from nodewise.ops.fused.head_lanes import find_slots, has_more, make_block, start_of
from nodewise.ops.fused.head_uses import edges_of, to_begins
from nodewise.ops.fused.layer import ask_for_row, row_bounds
from nodewise.ops.fused.simd import (
    add,
    fma,
    full,
    get,
    load,
    mul,
    store,
    totals,
    where_positive,
)

# What is kept of a visit: its use, its edge in the block, its entry among the features.
VISIT = 3
# Eight outputs of eight heads, and their sum over the outputs.
PULL = 72


@part
def _sort_visits(layer, block, own):
    """List the visits of a block column by column: count them, then lay them out."""
    rows, ends, visits = layer.rows, own.visits.ends, own.visits.where
    place = np.int64(0)
    ends[:] = 0
    for edge in range(block.first_edge, block.last_edge):
        ask_for_row(rows, layer.source, edge + 1)
        begin, end, _ = row_bounds(rows, layer.source[edge])
        for j in range(begin, end):
            ends[get(rows.col, j)] += 1
    to_begins(ends)
    for v in range(block.begin, block.end):
        place = find_slots(layer.columns, v, place, own.uses.order, own.slot)
        for edge in range(*edges_of(layer.ptr, block, v)):
            begin, end, _ = row_bounds(rows, layer.source[edge])
            for j in range(begin, end):
                f = get(rows.col, j)
                at = VISIT * get(ends, f)
                visits[at], visits[at + 1] = get(own.slot, f), edge - block.first_edge
                visits[at + 2], ends[f] = j, get(ends, f) + 1


@part
def _take_pulls(messages, sizes, group, block, pulls):
    """The gradients of a block's messages, for each eight outputs (8, 8) and their sum."""
    at = 0
    for edge in range(block.first_edge, block.last_edge):
        start = 8 * (edge * sizes.groups + group) * sizes.real
        for first in range(0, sizes.out, 8):
            read_pull(messages, start, first, sizes.real, pulls, at)
            a, b = load_four(pulls, at, 8), load_four(pulls, at + 32, 8)
            a, b = add(add(a[0], a[1]), add(a[2], a[3])), add(add(b[0], b[1]), add(b[2], b[3]))
            store(pulls, at + 64, add(a, b))
            at += PULL


@inlined
def _pull_column(weight, p, values, visits, span, use, apart, pulls, made, found, spare):
    """What all visits in one column pull at, through eight outputs whose W begins at p.

    `use` is the column's first, `apart` how far the pulls of two edges are from each other.
    """
    grad_weight, of_made, grad_values = found
    w, more = load_four(weight, p, 8), load_four(weight, p + 32, 8)
    sums, others = load_four(grad_weight, p, 8), load_four(grad_weight, p + 32, 8)
    for eight in range(span[0], span[1], 8):
        count = min(8, span[1] - eight)
        for i in range(count):
            visit = VISIT * (eight + i)
            row, at = 16 * np.int64(get(visits, visit)), apart * get(visits, visit + 1)
            x, r, g = (
                full(get(values, get(visits, visit + 2))),
                load(made, row),
                load(pulls, at + 64),
            )
            a, b = load_four(pulls, at, 8), load_four(pulls, at + 32, 8)
            q = fma(a[0], w[0], mul(a[1], w[1]))
            s = fma(a[2], w[2], mul(a[3], w[3]))
            q = fma(b[0], more[0], fma(b[1], more[1], q))
            q = add(q, fma(b[2], more[2], fma(b[3], more[3], s)))
            to = row - 16 * use
            store(of_made, to, fma(x, q, load(of_made, to)))
            store(of_made, to + 8, fma(x, g, load(of_made, to + 8)))
            store(spare, 8 * i, fma(g, load(made, row + 8), fma(q, r, q)))
            x = fma(x, r, x)
            sums, others = fma_four(x, a, sums), fma_four(x, b, others)
        if grad_values.size > 0:
            store(spare, 0, totals(spare, 0))
            for i in range(count):
                grad_values[get(visits, VISIT * (eight + i) + 2)] += get(spare, i)
    store_four(grad_weight, p, 8, sums)
    store_four(grad_weight, p + 32, 8, others)


@inlined
def _spend(of_made, begin, end, slope, made):
    """The gradients of expand @ code in place of what leaky_relu made of it; clears `of_made`."""
    bend, zero = full(slope), full(made.dtype.type(0))
    for at in range(0, 16 * (end - begin), 8):
        r, g = load(made, 16 * begin + at), load(of_made, at)
        store(of_made, at, zero)
        store(made, 16 * begin + at, where_positive(r, g, mul(g, bend)))


@part
def _pull(rows, sizes, group, weight, slope, own, found):
    """From the pulls at a block's messages to those at W, at the features and at expand @ code.

    The last take the place of scales and shifts; `found` is where the others are added to, and what
    is left zero.
    """
    apart, begin, use = PULL * sizes.out // 8, np.int64(0), np.int64(0)
    for f in range(rows.width):
        end, last_use = np.int64(get(own.visits.ends, f)), np.int64(get(own.uses.ends, f))
        for first in range(0, sizes.out, 8):
            if begin < end:
                p = 8 * (sizes.out * (group * rows.width + f) + first)
                given = (own.visits.pulls[PULL * first // 8 :], own.made, found, own.spare)
                where = (rows.values, own.visits.where, (begin, end), use, apart)
                _pull_column(weight, p, *where, *given)
        _spend(found[1], use, last_use, slope, own.made)
        begin, use = end, last_use


@kernel
def backward(first, last, own, layer, bounds, room, grads):
    """What `head_backward` does, for sparse rows."""
    sizes, ptr = layer.sizes, layer.ptr
    cuts = bounds.size - 1
    for piece in range(first, last):
        group, cut = piece // cuts, piece % cuts
        clear(grads, sizes.groups, group, cut, piece)
        found = (grads.weight[cut], own.visits.of_made, grads.values[piece])
        block = start_of(ptr, bounds[cut])
        while has_more(ptr, block, bounds[cut + 1]):
            block = make_block(layer, block, group, bounds[cut + 1], room, own)
            _sort_visits(layer, block, own)
            _take_pulls(grads.messages, sizes, group, block, own.visits.pulls)
            _pull(layer.rows, sizes, group, layer.weight, layer.slope, own, found)
            spend_block(layer, group, cut, block, own, grads)
