"""Eight lanes at a time inside Numba: two types, and the operations of the kernels.

Numba leaves vectorization to LLVM's heuristics, which give up on most of our loops (several
accumulators, gathered rows, unknown aliasing). Eight explicit lanes make a kernel's speed a
property of its text: `acc = fma(full(x), load(w, i), acc)` is one AVX instruction for float32, two
for float64. Machines without such registers run the same text, lowered by LLVM to what they have.

Inside a kernel an array is a `View`: where its elements begin, and how many there are. Numba passes
an array as seven arguments and counts references to it at every call; a view is two numbers.
With NODEWISE_CHECKED=1 every access is compared with the view's size; else that number is unused.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from nodewise.ops.compiled import CHECKED, inlined
from nodewise.ops.hashing import LANE_STRIDE, LAST_SHIFT, MIX, WORD

LANES = 8
_INDEX, _WORD = ir.IntType(64), ir.IntType(32)


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


class ViewType(types.Type):
    """The elements of a C-contiguous array, in one row."""

    def __init__(self, dtype: types.Type) -> None:
        self.dtype = dtype
        super().__init__(name=f"View({dtype})")


@register_model(ViewType)
class _ViewModel(models.StructModel):
    def __init__(self, manager: Any, view: ViewType) -> None:
        super().__init__(
            manager, view, [("data", types.CPointer(view.dtype)), ("size", types.int64)]
        )


def _viewed(kind: Any) -> Any:
    """The type of the result of `views`."""
    if isinstance(kind, types.Array):
        if kind.layout != "C":
            raise TypeError(f"{kind}: kernels take arrays without gaps, as `launch.flat` makes")
        return ViewType(kind.dtype)
    if isinstance(kind, types.BaseNamedTuple):
        return types.NamedTuple([_viewed(item) for item in kind], kind.instance_class)
    if isinstance(kind, types.BaseTuple):
        return types.Tuple([_viewed(item) for item in kind])
    return kind


def _view(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The result of `views` for a value."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value=value)
        out = cgutils.create_struct_proxy(ViewType(kind.dtype))(context, builder)
        out.data, out.size = array.data, array.nitems
        return out._getvalue()
    if isinstance(kind, types.BaseTuple):
        items = cgutils.unpack_tuple(builder, value, len(kind))
        pairs = zip(kind, items, strict=True)
        out = [_view(context, builder, *pair) for pair in pairs]
        return context.make_tuple(builder, _viewed(kind), out)
    return value


@intrinsic
def views(typingctx: Any, value: Any) -> Any:
    """The same value with a view in place of every array, in tuples of any depth, too."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _view(context, builder, signature.args[0], args[0])

    return _viewed(value)(value), emit


def _address(context: Any, builder: Any, kind: Any, view: Any, index: Any, count: int = 1) -> Any:
    """The address of an element; checked builds raise unless the view has `count` from there on."""
    parts = cgutils.create_struct_proxy(kind)(context, builder, value=view)
    if CHECKED:
        last = builder.add(index, ir.Constant(_INDEX, count))
        outside = builder.icmp_signed(">", last, parts.size)
        negative = builder.icmp_signed("<", index, ir.Constant(_INDEX, 0))
        with builder.if_then(builder.or_(outside, negative), likely=False):
            message = (f"{kind}: a kernel left its array",)
            context.call_conv.return_user_exc(builder, IndexError, message)
    return builder.gep(parts.data, [index])


def _lanes_at(context: Any, builder: Any, kind: Any, view: Any, index: Any) -> tuple[Any, int]:
    """The address of eight elements, as a vector's, and its alignment."""
    address = _address(context, builder, kind, view, index, LANES)
    vector = ir.VectorType(context.get_value_type(kind.dtype), LANES)
    return builder.bitcast(address, vector.as_pointer()), kind.dtype.bitwidth // 8


def _shuffle(builder: Any, a: Any, b: Any, lanes: list[int]) -> Any:
    """Some lanes of two vectors side by side."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_WORD, len(lanes)), lanes))


def _fill(builder: Any, value: Any) -> Any:
    """A vector with one value in all lanes."""
    empty = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(_INDEX, 0))
    return _shuffle(builder, first, empty, [0] * LANES)


@intrinsic
def size(typingctx: Any, view: Any) -> Any:
    """How many elements a view has."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0]).size

    return types.int64(view), emit


@intrinsic
def skip(typingctx: Any, view: Any, index: Any) -> Any:
    """The view of all elements from `index` on."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out = cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0])
        out.data = builder.gep(out.data, [args[1]])
        out.size = builder.sub(out.size, args[1])
        return out._getvalue()

    return view(view, types.int64), emit


@intrinsic
def get(typingctx: Any, view: Any, index: Any) -> Any:
    """One element."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_address(context, builder, signature.args[0], *args))

    return view.dtype(view, types.int64), emit


@intrinsic
def put(typingctx: Any, view: Any, index: Any, value: Any) -> Any:
    """Write one element."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _address(context, builder, signature.args[0], *args[:2]))
        return context.get_dummy_value()

    return types.void(view, types.int64, view.dtype), emit


@intrinsic
def load(typingctx: Any, view: Any, index: Any) -> Any:
    """The eight elements from `index` on."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address, align = _lanes_at(context, builder, signature.args[0], *args)
        return builder.load(address, align=align)

    return Lanes(view.dtype)(view, types.int64), emit


@intrinsic
def store(typingctx: Any, view: Any, index: Any, lanes: Any) -> Any:
    """Write eight elements from `index` on."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address, align = _lanes_at(context, builder, signature.args[0], *args[:2])
        builder.store(args[2], address, align=align)
        return context.get_dummy_value()

    return types.void(view, types.int64, lanes), emit


@intrinsic
def prefetch(typingctx: Any, view: Any, index: Any) -> Any:
    """Fetch the cache line of an element without waiting for it."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = _address(context, builder, signature.args[0], *args)
        byte = builder.bitcast(address, ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [byte.type, _WORD, _WORD, _WORD])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(fetch, [byte, *(ir.Constant(_WORD, value) for value in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(view, types.int64), emit


@intrinsic
def full(typingctx: Any, value: Any) -> Any:
    """One number in all eight lanes."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _fill(builder, args[0])

    return Lanes(value)(value), emit


@intrinsic
def zeros(typingctx: Any, view: Any) -> Any:
    """Eight zeros of a view's type."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(context.get_value_type(signature.return_type), [0.0] * LANES)

    return Lanes(view.dtype)(view), emit


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
def maximum(typingctx: Any, a: Any, b: Any) -> Any:
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


@inlined
def leaky_relu(x, slope):
    """x where it is above zero, else slope times x; `slope` in all lanes."""
    return where_positive(x, x, mul(x, slope))


@intrinsic
def horizontal_sum(typingctx: Any, lanes: Any) -> Any:
    """The sum of the eight lanes, always added in the same order: halves, quarters, eighths."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes, count = args[0], LANES
        while count > 1:
            count //= 2
            halves = [list(range(start, start + count)) for start in (0, count)]
            lanes = builder.fadd(*(_shuffle(builder, lanes, lanes, half) for half in halves))
        return builder.extract_element(lanes, ir.Constant(_INDEX, 0))

    return lanes.element(lanes), emit


# Which lanes of two vectors side by side are added: neighbors, pairs, halves. No step but the last
# crosses the middle of a vector, which takes a processor longer.
_PAIRS = ([0, 2, 8, 10, 4, 6, 12, 14], [1, 3, 9, 11, 5, 7, 13, 15])
_HALVES = ([0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15])


@intrinsic
def horizontal_sums(typingctx: Any, view: Any, index: Any) -> Any:
    """Eight sums of eight neighbors each, of the 64 elements from `index` on."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows = []
        for row in range(LANES):
            at = builder.add(args[1], ir.Constant(_INDEX, row * LANES))
            address, align = _lanes_at(context, builder, signature.args[0], args[0], at)
            rows.append(builder.load(address, align=align))
        for step in (_PAIRS, _PAIRS, _HALVES):
            pairs = zip(rows[::2], rows[1::2], strict=True)
            rows = [builder.fadd(*(_shuffle(builder, *two, at) for at in step)) for two in pairs]
        return rows[0]

    return Lanes(view.dtype)(view, types.int64), emit


@intrinsic
def halves(typingctx: Any, a: Any, b: Any) -> Any:
    """The lower halves of a and b side by side, and their upper halves."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out = [_shuffle(builder, *args, half) for half in _HALVES]
        return context.make_tuple(builder, signature.return_type, out)

    return types.UniTuple(a, 2)(a, b), emit


@intrinsic
def transpose(typingctx: Any, source: Any, i: Any, step: Any, to: Any, j: Any, to_step: Any) -> Any:
    """Eight rows of eight from `i` on become the eight columns of those from `j` on.

    Rows are `step` and `to_step` elements apart. Blocks off the diagonal change places: single
    elements, pairs, blocks of four.
    """

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def address(view: int, row: int) -> tuple[Any, int]:
            begin, apart = args[view + 1 : view + 3]
            at = builder.add(begin, builder.mul(apart, ir.Constant(_INDEX, row)))
            return _lanes_at(context, builder, signature.args[view], args[view], at)

        places = [address(0, row) for row in range(LANES)]
        rows = [builder.load(place, align=align) for place, align in places]
        for step in (1, 2, 4):
            upper = [f ^ step | LANES if f & step else f for f in range(LANES)]
            lower = [f | LANES if f & step else f ^ step for f in range(LANES)]
            for row in (row for row in range(LANES) if not row & step):
                pair = rows[row], rows[row | step]
                rows[row] = _shuffle(builder, *pair, upper)
                rows[row | step] = _shuffle(builder, *pair, lower)
        for row, lanes in enumerate(rows):
            place, align = address(3, row)
            builder.store(lanes, place, align=align)
        return context.get_dummy_value()

    return types.void(source, *[types.int64] * 2, to, *[types.int64] * 2), emit


@intrinsic
def keep_mask(typingctx: Any, key: Any, threshold: Any, like: Any) -> Any:
    """Dropout's mask: 1 in each lane whose hash of (key, lane) is at least `threshold`, else 0.

    `nodewise.ops.dropconnect.keep_mask` is the same arithmetic in torch.
    """

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(_WORD, LANES)

        def constant(value: int) -> Any:
            return ir.Constant(vector, [value] * LANES)

        steps = ir.Constant(vector, [lane * LANE_STRIDE & WORD for lane in range(LANES)])
        bits = builder.add(_fill(builder, builder.trunc(args[0], _WORD)), steps)
        for shift, factor in MIX:
            bits = builder.xor(bits, builder.lshr(bits, constant(shift)))
            bits = builder.mul(bits, constant(factor))
        bits = builder.xor(bits, builder.lshr(bits, constant(LAST_SHIFT)))
        least = _fill(builder, builder.trunc(args[1], _WORD))
        lanes = context.get_value_type(signature.return_type)
        ones, none = (ir.Constant(lanes, [value] * LANES) for value in (1.0, 0.0))
        return builder.select(builder.icmp_unsigned(">=", bits, least), ones, none)

    return like(types.int64, types.int64, like), emit


@intrinsic
def trailing_zeros(typingctx: Any, word: Any) -> Any:
    """How many zero bits a word of 64 bits has below its lowest one."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), emit


@inlined
def mix(bits):
    """The 32-bit hash of `nodewise.ops.dropconnect.mix`."""
    for shift, factor in MIX:
        bits = ((bits ^ (bits >> shift)) * factor) & WORD
    return bits ^ (bits >> LAST_SHIFT)


@inlined
def load_four(view, at, step):
    """Four vectors, `step` elements apart."""
    return (
        load(view, at),
        load(view, at + step),
        load(view, at + 2 * step),
        load(view, at + 3 * step),
    )


@inlined
def store_four(view, at, step, four):
    """Write four vectors, `step` elements apart."""
    store(view, at, four[0])
    store(view, at + step, four[1])
    store(view, at + 2 * step, four[2])
    store(view, at + 3 * step, four[3])


@inlined
def fma_four(x, four, sums):
    """x * four + sums."""
    return (
        fma(x, four[0], sums[0]),
        fma(x, four[1], sums[1]),
        fma(x, four[2], sums[2]),
        fma(x, four[3], sums[3]),
    )
