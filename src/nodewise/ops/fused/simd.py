"""Eight lanes at a time inside Numba: a vector type, and the few operations our kernels need.

Numba leaves vectorization to LLVM's heuristics, which give up on most of our loops (several
accumulators, gathered rows, unknown aliasing). Eight explicit lanes make a kernel's speed a
property of its text: `acc = fma(full(x), load(w, i), acc)` is one AVX instruction for float32, two
for float64. Machines without such registers run the same text, lowered by LLVM to what they have.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from nodewise.ops.dropconnect import LANE_STRIDE, LAST_SHIFT, MIX

LANES = 8


class Lanes(types.Type):
    """Eight floats in a register."""

    def __init__(self, element: types.Float) -> None:
        self.element = element
        super().__init__(name=f"Lanes({element})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        element = manager.lookup(lanes.element).get_value_type()
        super().__init__(manager, lanes, ir.VectorType(element, LANES))


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    """Where an array's elements begin, if they lie side by side: nothing here looks at strides."""
    if array_type.layout != "C":
        raise TypeError(f"{array_type}: kernels take arrays without gaps, as `arrays.flat` makes")
    return context.make_array(array_type)(context, builder, value=array).data


def _address(
    context: Any, builder: Any, array_type: Any, array: Any, index: Any, lanes: int = LANES
) -> Any:
    first = builder.gep(_data(context, builder, array_type, array), [index])
    return builder.bitcast(
        first, ir.VectorType(context.get_value_type(array_type.dtype), lanes).as_pointer()
    )


def _pick(builder: Any, a: Any, b: Any, lanes: list[int]) -> Any:
    """Some lanes of two vectors side by side."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), LANES), lanes))


@intrinsic
def load(typingctx: Any, array: Any, index: Any) -> Any:
    """The eight elements of a flat array from `index` on."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = _address(context, builder, signature.args[0], args[0], args[1])
        return builder.load(address, align=signature.args[0].dtype.bitwidth // 8)

    return Lanes(array.dtype)(array, types.intp), emit


@intrinsic
def load_twice(typingctx: Any, array: Any, index: Any) -> Any:
    """The four elements of a flat array from `index` on, in both halves of a vector."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = _address(context, builder, signature.args[0], *args, lanes=LANES // 2)
        four = builder.load(address, align=signature.args[0].dtype.bitwidth // 8)
        return _pick(builder, four, four, [0, 1, 2, 3] * 2)

    return Lanes(array.dtype)(array, types.intp), emit


@intrinsic
def get(typingctx: Any, array: Any, index: Any) -> Any:
    """One element of a flat array, without asking first if the index is negative."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = _data(context, builder, signature.args[0], args[0])
        return builder.load(builder.gep(data, [args[1]]))

    return array.dtype(array, types.intp), emit


@intrinsic
def prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of an element of a flat array, without waiting for it."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = _data(context, builder, signature.args[0], args[0])
        byte = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte.type, word, word, word])
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(ask, [byte, *(ir.Constant(word, value) for value in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.intp), emit


@intrinsic
def store(typingctx: Any, array: Any, index: Any, lanes: Any) -> Any:
    """Write eight elements of a flat array from `index` on."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = _address(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], address, align=signature.args[0].dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), emit


@intrinsic
def full(typingctx: Any, value: Any) -> Any:
    """One number in all eight lanes."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(args[0].type, LANES)
        one = builder.insert_element(
            ir.Constant(vector, ir.Undefined), args[0], ir.Constant(cgutils.intp_t, 0)
        )
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), zeros)

    return Lanes(value)(value), emit


@intrinsic
def fma(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, in one rounding where the machine can."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        product = builder.fmul(args[0], args[1], flags=("contract",))
        return builder.fadd(product, args[2], flags=("contract",))

    return a(a, b, c), emit


@intrinsic
def add(typingctx: Any, a: Any, b: Any) -> Any:
    """a + b."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(*args)

    return a(a, b), emit


@intrinsic
def mul(typingctx: Any, a: Any, b: Any) -> Any:
    """a * b."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fmul(*args)

    return a(a, b), emit


@intrinsic
def larger(typingctx: Any, a: Any, b: Any) -> Any:
    """Lane by lane, the larger of two."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return a(a, b), emit


@intrinsic
def where_positive(typingctx: Any, test: Any, a: Any, b: Any) -> Any:
    """Lane by lane: a where `test` is above zero, else b."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero = ir.Constant(args[0].type, [0.0] * LANES)
        return builder.select(builder.fcmp_ordered(">", args[0], zero), args[1], args[2])

    return a(test, a, b), emit


@intrinsic
def total(typingctx: Any, lanes: Any) -> Any:
    """The sum of the eight lanes, always added in the same order: halves, quarters, eighths."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes, count = args[0], LANES
        while count > 1:
            count //= 2
            halves = [
                builder.shuffle_vector(
                    lanes,
                    ir.Constant(lanes.type, ir.Undefined),
                    ir.Constant(
                        ir.VectorType(ir.IntType(32), count), list(range(start, start + count))
                    ),
                )
                for start in (0, count)
            ]
            lanes = builder.fadd(*halves)
        return builder.extract_element(lanes, ir.Constant(cgutils.intp_t, 0))

    return lanes.element(lanes), emit


# Which lanes of two vectors side by side are added to which: neighbours, pairs, halves. No step but
# the last crosses the middle of a vector, which would take a processor longer.
_NEXT = ((0, 2, 8, 10, 4, 6, 12, 14), (1, 3, 9, 11, 5, 7, 13, 15))
_STEPS = (_NEXT, _NEXT, ((0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)))


def _across(builder: Any, rows: list[Any]) -> Any:
    """Eight sums over the lanes of eight vectors: three steps for all of them.

    Of four vectors, the sums over both halves of each, the lower ones first.
    """
    picks_of = ir.VectorType(ir.IntType(32), LANES)
    for step in _STEPS:
        if len(rows) > 1:
            picks = [ir.Constant(picks_of, list(lanes)) for lanes in step]
            pairs = zip(rows[::2], rows[1::2], strict=True)
            rows = [
                builder.fadd(*(builder.shuffle_vector(a, b, pick) for pick in picks))
                for a, b in pairs
            ]
    return rows[0]


@intrinsic
def totals(typingctx: Any, array: Any, index: Any) -> Any:
    """Eight sums of eight neighbours each, of the 64 elements of a flat array from `index` on."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows = []
        for row in range(LANES):
            at = builder.add(args[1], ir.Constant(args[1].type, row * LANES))
            address = _address(context, builder, signature.args[0], args[0], at)
            rows.append(builder.load(address, align=signature.args[0].dtype.bitwidth // 8))
        return _across(builder, rows)

    return Lanes(array.dtype)(array, types.intp), emit


@intrinsic
def add_halves(typingctx: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """The sums of a's, b's, c's and d's lower halves, and then those of their upper ones."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _across(builder, list(args))

    return a(a, b, c, d), emit


@intrinsic
def lower_halves(typingctx: Any, a: Any, b: Any) -> Any:
    """a's lower half, and b's above it."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _pick(builder, *args, [0, 1, 2, 3, 8, 9, 10, 11])

    return a(a, b), emit


@intrinsic
def upper_halves(typingctx: Any, a: Any, b: Any) -> Any:
    """a's upper half, and b's above it."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _pick(builder, *args, [4, 5, 6, 7, 12, 13, 14, 15])

    return a(a, b), emit


@intrinsic
def spread_halves(typingctx: Any, lanes: Any) -> Any:
    """Four vectors: each has one lane of the lower half there, and its like of the upper there."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        found = [_pick(builder, *args * 2, [i] * 4 + [i + 4] * 4) for i in range(4)]
        return context.make_tuple(builder, signature.return_type, found)

    return types.UniTuple(lanes, 4)(lanes), emit


@intrinsic
def turn(typingctx: Any, source: Any, i: Any, step: Any, target: Any, j: Any, to_step: Any) -> Any:
    """Eight rows of eight from `i` on become the eight columns of those from `j` on.

    Rows are `step` and `to_step` elements apart. Blocks off the diagonal change places: single
    elements, pairs, fours.
    """

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def address(array: int, row: int) -> Any:
            begin, apart = args[array + 1 : array + 3]
            at = builder.add(begin, builder.mul(apart, ir.Constant(apart.type, row)))
            return _address(context, builder, signature.args[array], args[array], at)

        align = signature.args[0].dtype.bitwidth // 8
        rows = [builder.load(address(0, row), align=align) for row in range(LANES)]
        for step in (1, 2, 4):
            upper = [f ^ step | LANES if f & step else f for f in range(LANES)]
            lower = [f | LANES if f & step else f ^ step for f in range(LANES)]
            for row in (row for row in range(LANES) if not row & step):
                pair = rows[row], rows[row | step]
                rows[row] = _pick(builder, *pair, upper)
                rows[row | step] = _pick(builder, *pair, lower)
        for row, lanes in enumerate(rows):
            builder.store(lanes, address(3, row), align=align)
        return context.get_dummy_value()

    return types.void(source, *[types.intp] * 2, target, *[types.intp] * 2), emit


@intrinsic
def keep(typingctx: Any, key: Any, threshold: Any, like: Any) -> Any:
    """Dropout's mask from a counter: 1 in each lane whose hash of (key, lane) is >= `threshold`.

    `nodewise.ops.dropconnect.keep_mask` is the same arithmetic in torch.
    """

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(32)
        vector = ir.VectorType(word, LANES)

        def fill(value: Any) -> Any:
            one = builder.insert_element(
                ir.Constant(vector, ir.Undefined), value, ir.Constant(cgutils.intp_t, 0)
            )
            return builder.shuffle_vector(
                one, ir.Constant(vector, ir.Undefined), ir.Constant(vector, [0] * LANES)
            )

        def constant(value: int) -> Any:
            return ir.Constant(vector, [value] * LANES)

        steps = [(lane * LANE_STRIDE) & 0xFFFFFFFF for lane in range(LANES)]
        bits = builder.add(fill(builder.trunc(args[0], word)), ir.Constant(vector, steps))
        for shift, factor in MIX:
            bits = builder.xor(bits, builder.lshr(bits, constant(shift)))
            bits = builder.mul(bits, constant(factor))
        bits = builder.xor(bits, builder.lshr(bits, constant(LAST_SHIFT)))
        kept = builder.icmp_unsigned(">=", bits, fill(builder.trunc(args[1], word)))
        element = context.get_value_type(signature.return_type.element)
        lanes = ir.VectorType(element, LANES)
        return builder.select(
            kept, ir.Constant(lanes, [1.0] * LANES), ir.Constant(lanes, [0.0] * LANES)
        )

    return like(types.int64, types.int64, like), emit
