"""Gradients of eight heads' messages, every lane a head, one target after the other.

As in `messages_backward`, T_v = sum_u h_u^T g_uv is gathered for one target at a time and spent on
the gradients of W, a_v and b_v. Only the features' gradient is added up across lanes. Where few
features meet the same column of the same T_v, `head_columns` is faster.
"""

from __future__ import annotations

import numpy as np

from nodewise.ops.compiled import inlined, kernel, part
from nodewise.ops.fused.fours import fma_four, load_four, store_four
from nodewise.ops.fused.head_lanes import form, has_more, make_block, start_of
from nodewise.ops.fused.head_uses import edges_of, from_lanes, generate_backward, span
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
    turn,
    where_positive,
)


@inlined
def read_pull(messages, at, first, real, pull, to):
    """Eight outputs of eight heads from where a group's message begins, zeros beyond a head's."""
    if real == 8:
        turn(messages, at, 8, pull, to, 8)
    else:
        for o in range(8):
            for head in range(8):
                inside = first + o < real
                here = messages[at + head * real + first + o] if inside else 0
                pull[to + 8 * o + head] = here


@part
def _find_columns(columns, v, slot):
    """Where in the list of columns in use each of them is."""
    begin, count = span(columns, v)
    for c in range(count):
        slot[get(columns.seen, begin + c)] = c


@inlined
def _outer(local, rows, slot, u, stride, first, spare):
    """T_v += h_u^T g_uv for eight outputs of eight heads."""
    begin, end, base = row_bounds(rows, u)
    a, b = load_four(spare, 0, 8), load_four(spare, 32, 8)
    for j in range(begin, end):
        x, at = full(get(rows.values, j)), stride * get(slot, get(rows.col, j - base)) + first
        store_four(local, at, 8, fma_four(x, a, load_four(local, at, 8)))
        store_four(local, at + 32, 8, fma_four(x, b, load_four(local, at + 32, 8)))


@inlined
def _outer_and_pull(local, formed, rows, slot, u, stride, first, spare, grad_values):
    """The same, and d/d h_u += W_v^T g_uv: a feature is looked up once for both.

    What is to be added across lanes waits in the second half of `spare` until there are eight.
    """
    begin, end, base = row_bounds(rows, u)
    a, b = load_four(spare, 0, 8), load_four(spare, 32, 8)
    for eight in range(begin, end, 8):
        count = min(8, end - eight)
        for i in range(count):
            j = eight + i
            x, at = full(get(rows.values, j)), stride * get(slot, get(rows.col, j - base)) + first
            store_four(local, at, 8, fma_four(x, a, load_four(local, at, 8)))
            store_four(local, at + 32, 8, fma_four(x, b, load_four(local, at + 32, 8)))
            s = fma(a[0], load(formed, at), mul(a[1], load(formed, at + 8)))
            t = fma(a[2], load(formed, at + 16), mul(a[3], load(formed, at + 24)))
            s = fma(b[0], load(formed, at + 32), fma(b[1], load(formed, at + 40), s))
            t = fma(b[2], load(formed, at + 48), fma(b[3], load(formed, at + 56), t))
            store(spare, 64 + 8 * i, add(s, t))
        found = totals(spare, 64)
        if count == 8:
            store(grad_values, eight, add(load(grad_values, eight), found))
        else:
            store(spare, 64, found)
            for i in range(count):
                grad_values[eight + i] += spare[64 + i]


@part
def _gather(
    rows, slot, sizes, group, edges, source, gathered, formed, messages, spare, grad_values
):
    """T_v from all sources of one target, along some `edges`, and what these get back, if asked."""
    for edge in range(*edges):
        ask_for_row(rows, source, edge + 1)
        at = 8 * (edge * sizes.groups + group) * sizes.real
        for first in range(0, sizes.out, 8):
            read_pull(messages, at, first, sizes.real, spare, 0)
            where = (rows, slot, source[edge], 8 * sizes.out, 8 * first, spare)
            if grad_values.size > 0:
                _outer_and_pull(gathered, formed, *where, grad_values)
            else:
                _outer(gathered, *where)


@part
def _spend(weight, out, first, columns, v, slope, gathered, made, order, place, grad_weight):
    """From T_v to the gradients of W, and of expand @ code in place of scales and shifts.

    Clears T_v.
    """
    begin, count = span(columns, v)
    bend, zero = full(slope), full(weight.dtype.type(0))
    for c in range(count):
        use = 16 * get(order, place + c)
        p = 8 * out * (first + np.int64(get(columns.seen, begin + c)))
        a, b = load(made, use), load(made, use + 8)
        of_a = of_b = zero
        whole = add(a, full(weight.dtype.type(1)))
        for o in range(0, 8 * out, 8):
            t = load(gathered, 8 * out * c + o)
            store(gathered, 8 * out * c + o, zero)
            of_a, of_b = fma(t, load(weight, p + o), of_a), add(of_b, t)
            store(grad_weight, p + o, fma(t, whole, load(grad_weight, p + o)))
        store(made, use, where_positive(a, of_a, mul(of_a, bend)))
        store(made, use + 8, where_positive(b, of_b, mul(of_b, bend)))


@part
def spend_block(layer, group, cut, block, own, grads):
    """From what pulls at a block's scales and shifts, now in their place, to codes and expansions.

    Where there were edges of the first target before, their pulls at its code are still there.
    """
    sizes, is_more = layer.sizes, block.first_edge > layer.ptr[block.begin]
    begin, end = 8 * sizes.code * is_more, 8 * sizes.code * (block.end - block.begin)
    for which, generator in enumerate((layer.scale, layer.shift)):
        code, found = own.codes[which], own.grad_codes[which]
        found[begin:end] = 0
        given = (code, generator[1], group * layer.rows.width, sizes.code, own.uses, own.made)
        generate_backward(*given, 8 * which, found, grads.expands[which, cut])
        from_lanes(found, sizes.groups, group, sizes.code, block, grads.codes[which])


@part
def clear(grads, groups, group, cut, piece):
    """Zeros where one piece of work adds up: a group's part of its tables, its entries."""
    size = grads.weight.shape[1] // groups
    grads.weight[cut, group * size : (group + 1) * size] = 0
    size = grads.expands.shape[2] // groups
    grads.expands[0, cut, group * size : (group + 1) * size] = 0
    grads.expands[1, cut, group * size : (group + 1) * size] = 0
    grads.values[piece] = 0


@kernel
def backward(first, last, own, layer, bounds, room, grads):
    """Fill `grads`, whatever is there; a piece of work is a group for some of the targets."""
    rows, columns, sizes, ptr = layer.rows, layer.columns, layer.sizes, layer.ptr
    cuts = bounds.size - 1
    for piece in range(first, last):
        group, cut, grad_values = piece // cuts, piece % cuts, grads.values[piece]
        clear(grads, sizes.groups, group, cut, piece)
        block = start_of(ptr, bounds[cut])
        while has_more(ptr, block, bounds[cut + 1]):
            block = make_block(layer, block, group, bounds[cut + 1], room, own)
            place = np.int64(0)
            for v in range(block.begin, block.end):
                _find_columns(columns, v, own.slot)
                which = (sizes.out, group * rows.width, columns, v)
                if grad_values.size > 0:
                    form(layer.weight, *which, own.made, own.uses.order, place, own.local)
                where = (rows, own.slot, sizes, group, edges_of(ptr, block, v), layer.source)
                changed = (own.gathered, own.local, grads.messages, own.spare, grad_values)
                _gather(*where, *changed)
                changed = (own.gathered, own.made, own.uses.order, place, grads.weight[cut])
                _spend(layer.weight, *which, layer.slope, *changed)
                place += span(columns, v)[1]
            spend_block(layer, group, cut, block, own, grads)
