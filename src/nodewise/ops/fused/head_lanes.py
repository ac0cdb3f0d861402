"""Localized messages of eight heads at a time, every lane a head.

What `messages` and `messages_backward` do, for heads that come in eights: generators, W_v and their
gradients are then products of whole vectors. Only the features are spread over lanes, and only
their gradient is added up across them. Without DropConnect, whose masks run along a head.

Layouts, all flat, the eight heads of a group last: `weight` (groups, width, out, 8) with `out` a
multiple of 8, `expand` (groups, width, size, 8) with `size` a multiple of 4, padded by zeros; W_v
and its gradient T_v are (columns in use, out, 8). Codes are (nodes, heads, size) and messages (E,
heads, out) as ever.

These tables are large, and all of them together with their gradients do not fit a core's own cache.
So each step is done for a block of targets before the next one is: scales of all of them, shifts,
messages, and so on back. A step reads one table, which stays; what steps hand on is read in order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodewise.ops.compiled import inlined, kernel, part
from nodewise.ops.fused.fours import fma_four, load_four, store_four
from nodewise.ops.fused.layer import (
    Columns,
    Floats,
    Ints,
    Rows,
    ask_for_row,
    row_bounds,
)
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


class HeadScratch(NamedTuple):
    """One thread's buffers, for one group.

    A code (size, 8); `scale` and `shift` (columns in use, 8) of a block of targets, one after the
    other; for one target, `local` for W_v and `gathered` for T_v, which is left zero.
    """

    code: Floats
    scale: Floats
    shift: Floats
    local: Floats
    gathered: Floats
    spare: Floats
    slot: NDArray[np.int32]


@inlined
def _uses(columns, v):
    """Where among all columns in use those of a target begin, and how many it has."""
    if columns.ptr.size == 1:
        return np.int64(0), columns.seen.size
    return np.int64(columns.ptr[v]), np.int64(columns.ptr[v + 1] - columns.ptr[v])


@part
def _block_end(columns, begin, end, room):
    """The end of a block of targets whose columns in use find room; at least one target."""
    last, taken = begin + 1, _uses(columns, begin)[1]
    while last < end and taken + _uses(columns, last)[1] <= room:
        taken += _uses(columns, last)[1]
        last += 1
    return last


@part
def _to_lanes(code, at, size, lanes):
    """A target's code for eight heads, (8, size) from `at` on, as (size, 8)."""
    if size == 8:
        turn(code, at, 8, lanes, 0, 8)
    else:
        for k in range(size):
            for head in range(8):
                lanes[8 * k + head] = code[at + head * size + k]


@part
def _from_lanes(lanes, size, code, at):
    """The way back."""
    if size == 8:
        turn(lanes, 0, 8, code, at, 8)
    else:
        for k in range(size):
            for head in range(8):
                code[at + head * size + k] = lanes[8 * k + head]


@inlined
def _dot_four(four, array, at):
    """The sum of four products of vectors with those of a flat array."""
    s = fma(four[0], load(array, at), mul(four[1], load(array, at + 8)))
    return fma(four[2], load(array, at + 16), fma(four[3], load(array, at + 24), s))


@part
def _generate(code, expand, first, size, slope, seen, begin, count, rows, at):
    """rows[at + c] = leaky_relu(expand[seen[begin + c]] . code) for eight heads (Eq. 6).

    `first` is the group's first column among all groups'.
    """
    bend = full(slope)
    some, others = load_four(code, 0, 8), load_four(code, 32 if size > 4 else 0, 8)
    for c in range(count):
        p = 8 * size * (first + np.int64(get(seen, begin + c)))
        t = _dot_four(some, expand, p)
        if size > 4:
            t = add(t, _dot_four(others, expand, p + 32))
        for k in range(64, 8 * size, 8):
            t = fma(load(code, k), load(expand, p + k), t)
        store(rows, 8 * (at + c), where_positive(t, t, mul(t, bend)))


@part
def _make(generator, sizes, columns, group, width, slope, targets, code, rows):
    """Scales (or shifts) of a block of targets."""
    at = 0
    for v in range(*targets):
        begin, count = _uses(columns, v)
        _to_lanes(generator[0], 8 * (v * sizes.groups + group) * sizes.code, sizes.code, code)
        which = (group * width, sizes.code, slope, columns.seen, begin, count)
        _generate(code, generator[1], *which, rows, at)
        at += count


@part
def _form(weight, out, first, seen, begin, count, scale, shift, at, local):
    """W_v (Eq. 4), W * a + b in the columns in use; scales and shifts begin at `at`."""
    for c in range(count):
        a = add(load(scale, 8 * (at + c)), full(weight.dtype.type(1)))
        b = load(shift, 8 * (at + c))
        p = 8 * out * (first + np.int64(get(seen, begin + c)))
        for o in range(0, 8 * out, 8):
            store(local, 8 * out * c + o, fma(load(weight, p + o), a, b))


@inlined
def _project(local, rows, slot, u, stride, first, spare):
    """Eight outputs of W_v h_u for eight heads, into `spare`."""
    begin, end, base = row_bounds(rows, u)
    zero = full(local.dtype.type(0))
    a = b = (zero, zero, zero, zero)
    for j in range(begin, end):
        x, at = full(get(rows.values, j)), stride * get(slot, get(rows.col, j - base)) + first
        a = fma_four(x, load_four(local, at, 8), a)
        b = fma_four(x, load_four(local, at + 32, 8), b)
    store_four(spare, 0, 8, a)
    store_four(spare, 32, 8, b)


@inlined
def _project_rows(local, values, width, p, q, stride, first, spare):
    """The same for two dense rows, which begin at p and q: W_v is read once for both."""
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


@inlined
def _read(messages, at, first, real, spare):
    """The way back, with zeros beyond a head's outputs."""
    if real == 8:
        turn(messages, at, 8, spare, 0, 8)
    else:
        for o in range(8):
            for head in range(8):
                inside = first + o < real
                spare[8 * o + head] = messages[at + head * real + first + o] if inside else 0


@part
def _send(rows, slot, sizes, group, edges, source, local, messages, spare):
    """Messages from all sources to one target, along some `edges`."""
    begin, end = edges
    stride, apart = 8 * sizes.out, 8 * sizes.groups * sizes.real
    for edge in range(begin, end, 2 if rows.dense else 1):
        ask_for_row(rows, source, edge + 1)
        at = 8 * (edge * sizes.groups + group) * sizes.real
        for first in range(0, sizes.out, 8):
            if rows.dense:
                p, q = source[edge] * rows.width, source[min(edge + 1, end - 1)] * rows.width
                _project_rows(local, rows.values, rows.width, p, q, stride, 8 * first, spare)
                if edge + 1 < end:
                    _write(spare, 64, messages, at + apart, first, sizes.real)
            else:
                _project(local, rows, slot, source[edge], stride, 8 * first, spare)
            _write(spare, 0, messages, at, first, sizes.real)


@part
def _find_slots(seen, begin, count, slot):
    """Where in the list of columns in use each of them is."""
    for c in range(count):
        slot[get(seen, begin + c)] = c


@kernel
def forward(first, last, own, layer, bounds, messages):
    """Fill `messages` (E, heads, out); a piece of work is a group for some of the targets."""
    rows, columns, sizes, ptr = layer.rows, layer.columns, layer.sizes, layer.ptr
    cuts = bounds.size - 1
    for piece in range(first, last):
        group, cut = piece // cuts, piece % cuts
        stop, end = bounds[cut], bounds[cut + 1]
        while stop < end:
            start, stop = stop, _block_end(columns, stop, end, own.scale.size // 8)
            how = (sizes, columns, group, rows.width, layer.slope, (start, stop), own.code)
            _make(layer.scale, *how, own.scale)
            _make(layer.shift, *how, own.shift)
            at = 0
            for v in range(start, stop):
                begin, count = _uses(columns, v)
                _find_slots(columns.seen, begin, count, own.slot)
                which = (sizes.out, group * rows.width, columns.seen, begin, count)
                _form(layer.weight, *which, own.scale, own.shift, at, own.local)
                where = (own.slot, sizes, group, (ptr[v], ptr[v + 1]), layer.source)
                _send(rows, *where, own.local, messages, own.spare)
                at += count


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
            _read(messages, at, first, sizes.real, spare)
            where = (rows, slot, source[edge], 8 * sizes.out, 8 * first, spare)
            if grad_values.size > 0:
                _outer_and_pull(gathered, formed, *where, grad_values)
            else:
                _outer(gathered, *where)


@part
def _spend(weight, out, first, seen, begin, count, slope, gathered, scale, shift, at, grad_weight):
    """From T_v to the gradients of W, and of expand @ code in place of scales and shifts.

    Clears T_v.
    """
    bend, zero = full(slope), full(weight.dtype.type(0))
    for c in range(count):
        p = 8 * out * (first + np.int64(get(seen, begin + c)))
        a, b = load(scale, 8 * (at + c)), load(shift, 8 * (at + c))
        of_a = of_b = zero
        whole = add(a, full(weight.dtype.type(1)))
        for o in range(0, 8 * out, 8):
            t = load(gathered, 8 * out * c + o)
            store(gathered, 8 * out * c + o, zero)
            of_a, of_b = fma(t, load(weight, p + o), of_a), add(of_b, t)
            store(grad_weight, p + o, fma(t, whole, load(grad_weight, p + o)))
        store(scale, 8 * (at + c), where_positive(a, of_a, mul(of_a, bend)))
        store(shift, 8 * (at + c), where_positive(b, of_b, mul(of_b, bend)))


@part
def _generate_backward(code, expand, first, size, seen, begin, count, rows, at, grad_expand):
    """From the gradient of expand @ code to those of both, four numbers of a code at a time.

    That of the code takes its place.
    """
    zero = full(code.dtype.type(0))
    for k in range(0, 8 * size, 32):
        some, sums = load_four(code, k, 8), (zero, zero, zero, zero)
        for c in range(count):
            p = 8 * size * (first + np.int64(get(seen, begin + c))) + k
            g = load(rows, 8 * (at + c))
            sums = fma_four(g, load_four(expand, p, 8), sums)
            store_four(grad_expand, p, 8, fma_four(g, some, load_four(grad_expand, p, 8)))
        store_four(code, k, 8, sums)


@part
def _make_backward(generator, sizes, columns, group, width, targets, code, rows, codes, expand):
    """From what pulls at expand @ code, for a block of targets, to what pulls at both."""
    at = 0
    for v in range(*targets):
        (begin, count), place = _uses(columns, v), 8 * (v * sizes.groups + group) * sizes.code
        _to_lanes(generator[0], place, sizes.code, code)
        which = (group * width, sizes.code, columns.seen, begin, count, rows, at)
        _generate_backward(code, generator[1], *which, expand)
        _from_lanes(code, sizes.code, codes, place)
        at += count


@part
def _clear(grads, groups, group, cut, piece):
    """Zeros where one piece of work adds up: a group's part of its tables, its entries."""
    size = grads.weight.shape[1] // groups
    grads.weight[cut, group * size : (group + 1) * size] = 0
    size = grads.expands.shape[2] // groups
    grads.expands[0, cut, group * size : (group + 1) * size] = 0
    grads.expands[1, cut, group * size : (group + 1) * size] = 0
    grads.values[piece] = 0


@kernel
def backward(first, last, own, layer, bounds, grads):
    """Fill `grads`, whatever is there; a piece of work is a group for some of the targets."""
    rows, columns, sizes, ptr = layer.rows, layer.columns, layer.sizes, layer.ptr
    cuts = bounds.size - 1
    for piece in range(first, last):
        group, cut, grad_values = piece // cuts, piece % cuts, grads.values[piece]
        _clear(grads, sizes.groups, group, cut, piece)
        stop, end = bounds[cut], bounds[cut + 1]
        while stop < end:
            start, stop = stop, _block_end(columns, stop, end, own.scale.size // 8)
            targets, how = (start, stop), (sizes, columns, group, rows.width)
            _make(layer.scale, *how, layer.slope, targets, own.code, own.scale)
            _make(layer.shift, *how, layer.slope, targets, own.code, own.shift)
            at = 0
            for v in range(start, stop):
                begin, count = _uses(columns, v)
                _find_slots(columns.seen, begin, count, own.slot)
                which = (sizes.out, group * rows.width, columns.seen, begin, count)
                if grad_values.size > 0:
                    _form(layer.weight, *which, own.scale, own.shift, at, own.local)
                where = (rows, own.slot, sizes, group, (ptr[v], ptr[v + 1]), layer.source)
                changed = (own.gathered, own.local, grads.messages, own.spare, grad_values)
                _gather(*where, *changed)
                changed = (own.gathered, own.scale, own.shift, at, grads.weight[cut])
                _spend(layer.weight, *which, layer.slope, *changed)
                at += count
            found = (own.scale, grads.codes[0], grads.expands[0, cut])
            _make_backward(layer.scale, *how, targets, own.code, *found)
            found = (own.shift, grads.codes[1], grads.expands[1, cut])
            _make_backward(layer.shift, *how, targets, own.code, *found)
