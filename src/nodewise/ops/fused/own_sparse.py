"""Every sparse row through its own node's weights: W_v s_v (Eqs. 4 and 6), on CPU lanes.

What `own` does for dense rows, for rows with few entries. No W_v is formed, for it would be used
once: W_v s = W (a_v * s) + (b_v . s) 1, in the columns where s has an entry, twice four of them at
a time. What a column brings, its rows of both generators and of W, lies together in a table (see
`own_tables`), and so do their gradients: columns come in no order that a cache could know, and one
visit serves for all. The lower four lanes make scales, the upper four shifts.

Layouts, all flat: codes (nodes, heads, size), with `size` a multiple of 8, padded by zeros; outputs
and their gradients (nodes, heads, outputs) as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nodewise.ops.compiled import inlined, kernel
from nodewise.ops.fused.fours import spread
from nodewise.ops.fused.layer import Floats, Ints
from nodewise.ops.fused.own import bent
from nodewise.ops.fused.own_tables import Shape
from nodewise.ops.fused.simd import (
    add,
    add_halves,
    fma,
    full,
    get,
    load,
    load_twice,
    lower_halves,
    mul,
    spread_halves,
    store,
    total,
    upper_halves,
)


class OwnRows(NamedTuple):
    """Everything a pass needs."""

    crow: Ints
    col: Ints
    values: Floats
    table: Floats
    scale_code: Floats
    shift_code: Floats
    shape: Shape
    slope: float


class OwnScratch(NamedTuple):
    """One thread's buffers for one node and head.

    `col` and `entries` for the last entries, where they are no eight; both codes, ordered as in the
    table, and what pulls at them; eight numbers; outputs, and what pulls at these.
    """

    col: Ints
    entries: Floats
    code: Floats
    of_code: Floats
    lanes: Floats
    out: Floats
    pull: Floats


class Sizes(NamedTuple):
    """Of both generators together in a column of the table, and of W."""

    codes: int
    out: int


@inlined
def _take_codes(layer, at, codes, code):
    """A node's codes under one head, ordered as in the table."""
    for k in range(0, codes // 2, 8):
        a, b = load(layer.scale_code, at + k), load(layer.shift_code, at + k)
        store(code, 2 * k, lower_halves(a, b))
        store(code, 2 * k + 8, upper_halves(a, b))


@inlined
def _take_last(layer, begin, count, own):
    """Lay out less than eight entries, with zeros in other columns beyond."""
    for i in range(8):
        # Other columns, one each: the same again and again would wait for each other.
        other = min(i, layer.shape.width - 1)
        own.col[i] = layer.col[begin + i] if i < count else other
        own.entries[i] = layer.values[begin + i] if i < count else 0


@inlined
def _columns(col, at, first, stride):
    """Where in the table the columns of four entries begin."""
    return (
        (first + get(col, at)) * stride,
        (first + get(col, at + 1)) * stride,
        (first + get(col, at + 2)) * stride,
        (first + get(col, at + 3)) * stride,
    )


@inlined
def _eight(layer, at, left, first, stride, own):
    """The columns of twice four entries, and the entries, so many of them being left."""
    col, entries = layer.col, layer.values
    if left < 8:
        _take_last(layer, at, left, own)
        col, entries, at = own.col, own.entries, 0
    some, others = _columns(col, at, first, stride), _columns(col, at + 4, first, stride)
    return some, others, load_twice(entries, at), load_twice(entries, at + 4)


@inlined
def _four(table, columns, k):
    """What four columns have in a table from k on."""
    a, b, c, d = columns
    return load(table, a + k), load(table, b + k), load(table, c + k), load(table, d + k)


@inlined
def _dots(table, columns, first, size, row):
    """The products of `row` with what four columns have from `first` on, over both halves."""
    (a, b, c, d), lanes = _four(table, columns, first), load(row, 0)
    a, b, c, d = mul(a, lanes), mul(b, lanes), mul(c, lanes), mul(d, lanes)
    for k in range(8, size, 8):
        (p, q, r, s), lanes = _four(table, columns, first + k), load(row, k)
        a, b, c, d = fma(p, lanes, a), fma(q, lanes, b), fma(r, lanes, c), fma(s, lanes, d)
    return add_halves(a, b, c, d)


@inlined
def _gather(table, columns, k, each):
    """The sum of what four columns have from k on, each times a vector."""
    (a, b, c, d), (p, q, r, s) = _four(table, columns, k), each
    return add(fma(q, b, mul(p, a)), fma(s, d, mul(r, c)))


@inlined
def _scatter(table, columns, k, each, row):
    """Add `row` to what four columns have from k on, each times a vector."""
    (a, b, c, d), (p, q, r, s) = columns, each
    store(table, a + k, fma(p, row, load(table, a + k)))
    store(table, b + k, fma(q, row, load(table, b + k)))
    store(table, c + k, fma(r, row, load(table, c + k)))
    store(table, d + k, fma(s, row, load(table, d + k)))


@inlined
def _clear(array, size):
    for k in range(0, size, 8):
        store(array, k, full(array.dtype.type(0)))


@inlined
def _scaled(made, x, bend, zero):
    """(1 + a) s below, b s above, for four entries."""
    return fma(bent(made, made, bend), x, lower_halves(x, zero))


@inlined
def _forward_eight(layer, sizes, some, others, x, y, own):
    """Add W (a * s) of twice four entries to `own.out`; returns b * s in the upper half."""
    table = layer.table
    a = _dots(table, some, 0, sizes.codes, own.code)
    b = _dots(table, others, 0, sizes.codes, own.code)
    bend, zero = full(layer.slope), full(own.lanes.dtype.type(0))
    a, b = _scaled(a, x, bend, zero), _scaled(b, y, bend, zero)
    store(own.lanes, 0, lower_halves(a, b))
    these, those = spread(own.lanes, 0), spread(own.lanes, 4)
    for o in range(sizes.codes, sizes.codes + sizes.out, 8):
        found = add(_gather(table, some, o, these), _gather(table, others, o, those))
        store(own.out, o - sizes.codes, add(load(own.out, o - sizes.codes), found))
    return add(a, b)


@inlined
def _forward_row(layer, sizes, v, head, own):
    """W (a * s) into `own.out`; returns b . s."""
    shape, zero = layer.shape, full(own.lanes.dtype.type(0))
    begin, count = np.int64(layer.crow[v]), layer.crow[v + 1] - np.int64(layer.crow[v])
    first, stride, shifted = head * shape.width, sizes.codes + sizes.out, zero
    _take_codes(layer, (v * shape.heads + head) * shape.size, sizes.codes, own.code)
    _clear(own.out, sizes.out)
    for c in range(0, count, 8):
        some, others, x, y = _eight(layer, begin + c, count - c, first, stride, own)
        shifted = add(shifted, _forward_eight(layer, sizes, some, others, x, y, own))
    return total(upper_halves(shifted, zero))


@kernel
def forward(first, last, own, layer, bounds, out):
    """Fill `out` (nodes, heads, outputs); a piece of work is a part of the nodes."""
    shape = layer.shape
    sizes, outputs = Sizes(2 * shape.size, shape.out), shape.outputs
    for v in range(bounds[first], bounds[last]):
        for head in range(shape.heads):
            # What the compiler knows the size of, it does not have to count.
            if sizes.codes == 16 and sizes.out == 8:
                more = _forward_row(layer, Sizes(16, 8), v, head, own)
            else:
                more = _forward_row(layer, sizes, v, head, own)
            at = (v * shape.heads + head) * outputs
            for o in range(outputs):
                out[at + o] = own.out[o] + more


@inlined
def _take_pull(grad_out, at, outputs, out, pull):
    """A node's gradient under one head, padded by zeros; returns its sum."""
    _clear(pull, out)
    for o in range(outputs):
        pull[o] = grad_out[at + o]
    sums = load(pull, 0)
    for o in range(8, out, 8):
        sums = add(sums, load(pull, o))
    return total(sums)


@inlined
def _pulls(layer, sizes, columns, x, pull, own):
    """For four entries: scales and shifts, what pulls at W's and at these, and at made codes."""
    made = _dots(layer.table, columns, 0, sizes.codes, own.code)
    halves = _dots(layer.table, columns, sizes.codes, sizes.out, own.pull)
    pulls = lower_halves(add(halves, upper_halves(halves, halves)), pull)
    bend = full(layer.slope)
    return bent(made, made, bend), pulls, bent(made, mul(pulls, x), bend)


@inlined
def _pull_at_entries(made, pulls):
    """What pulls at four entries, in the lower half: 1 + a and b, times what pulls at them."""
    both = mul(made, pulls)
    return add(pulls, add(both, upper_halves(both, both)))


@inlined
def _backward_eight(layer, sizes, some, others, x, y, pull, own, grads):
    """Add what twice four entries bring to the gradients of table and codes.

    What needs much of the table comes first, for both, so that neither waits for the other.
    """
    table = layer.table
    a, b = _pulls(layer, sizes, some, x, pull, own), _pulls(layer, sizes, others, y, pull, own)
    these, those = spread_halves(a[2]), spread_halves(b[2])
    for k in range(0, sizes.codes, 8):
        found = add(_gather(table, some, k, these), _gather(table, others, k, those))
        store(own.of_code, k, add(load(own.of_code, k), found))
        _scatter(grads, some, k, these, load(own.code, k))
        _scatter(grads, others, k, those, load(own.code, k))
    store(own.lanes, 0, lower_halves(fma(a[0], x, x), fma(b[0], y, y)))
    these, those = spread(own.lanes, 0), spread(own.lanes, 4)
    for o in range(0, sizes.out, 8):
        _scatter(grads, some, sizes.codes + o, these, load(own.pull, o))
        _scatter(grads, others, sizes.codes + o, those, load(own.pull, o))
    return a[:2], b[:2]


@inlined
def _backward_row(layer, sizes, v, head, pull, own, grads, values):
    """Add what a row brings to the gradients of the table, of its codes, and of its entries."""
    shape, pull = layer.shape, full(pull)
    begin, count = np.int64(layer.crow[v]), layer.crow[v + 1] - np.int64(layer.crow[v])
    first, stride = head * shape.width, sizes.codes + sizes.out
    _take_codes(layer, (v * shape.heads + head) * shape.size, sizes.codes, own.code)
    _clear(own.of_code, sizes.codes)
    for c in range(0, count, 8):
        some, others, x, y = _eight(layer, begin + c, count - c, first, stride, own)
        a, b = _backward_eight(layer, sizes, some, others, x, y, pull, own, grads)
        if values.size > 0:
            store(own.lanes, 0, lower_halves(_pull_at_entries(*a), _pull_at_entries(*b)))
            for i in range(min(8, count - c)):
                values[begin + c + i] += own.lanes[i]


@kernel
def backward(first, last, own, layer, bounds, grad_out, tables, of_scale, of_shift, values):
    """Gradients of both codes, and of the table, (cuts, ...), still to be added.

    Those of the entries are empty where nobody asked.
    """
    shape = layer.shape
    sizes, outputs = Sizes(2 * shape.size, shape.out), shape.outputs
    for cut in range(first, last):
        tables[cut] = 0
        for v in range(bounds[cut], bounds[cut + 1]):
            for head in range(shape.heads):
                at = v * shape.heads + head
                pull = _take_pull(grad_out, at * outputs, outputs, sizes.out, own.pull)
                where = (v, head, pull, own, tables[cut], values)
                if sizes.codes == 16 and sizes.out == 8:
                    _backward_row(layer, Sizes(16, 8), *where)
                else:
                    _backward_row(layer, sizes, *where)
                for k in range(0, shape.size, 8):
                    a, b = load(own.of_code, 2 * k), load(own.of_code, 2 * k + 8)
                    store(of_scale, at * shape.size + k, lower_halves(a, b))
                    store(of_shift, at * shape.size + k, upper_halves(a, b))
