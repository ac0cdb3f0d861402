"""Between torch tensors and the kernels that have heads in lanes: pad, pack, run, unpack."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from nodewise.ops.fused import head_backward, head_columns, head_lanes, head_tables
from nodewise.ops.fused.arrays import columns_of, flat, rows_of, work_of
from nodewise.ops.fused.cuts import cut_targets
from nodewise.ops.fused.head_columns import PULL, VISIT
from nodewise.ops.fused.head_lanes import HeadLayer, HeadScratch, Sizes, Visits
from nodewise.ops.fused.head_tables import Shape
from nodewise.ops.fused.head_uses import Room, Uses
from nodewise.ops.fused.layer import Floats, aligned
from nodewise.ops.fused.messages_backward import Grads
from nodewise.ops.fused.simd import LANES
from nodewise.ops.fused.threads import chunks_for, run, scratch, threads_for, workspace
from nodewise.ops.inputs import MessageGrads, MessageInputs

# A block has so many numbers of a head's codes, unless those of some targets are more, and uses of
# columns: often enough each column comes again. Where features along edges are listed, it has so
# many edges and features.
_CODES, _TARGETS, _USES, _EDGES, _VISITS = 2048, 32, 16384, 2048, 32768
# With so many features for each use of a column, gathering T_v takes less than sorting them.
_MANY = 4


def serves(inputs: MessageInputs) -> bool:
    """Whether heads come in eights, and no weight is dropped."""
    return inputs.weight.size(0) % LANES == 0 and inputs.seed is None


def _shapes(inputs: MessageInputs) -> tuple[Shape, Shape]:
    """Those of W and of what expands codes, (heads, ...) as they lie and in tables."""
    (heads, out, width), size = inputs.weight.shape, inputs.scale_code.size(2)
    groups = heads // LANES
    return (
        Shape(groups, out, width, out + -out % LANES),
        Shape(groups, size, width, max(LANES, size + -size % LANES)),
    )


def _numbers(shape: Shape) -> int:
    return shape.groups * shape.width * shape.padded * LANES


def _turn(kernel: Any, inputs: MessageInputs, matrices: Any, tables: Any) -> None:
    """Between W and both expansions and their tables, one way or the other."""
    weight, *expands = zip(map(flat, matrices), tables, strict=True)
    shapes = _shapes(inputs)
    work = sum(table.size for table in tables)
    run(kernel, -(-shapes[0].width // 8), work, weight, tuple(expands), shapes)


def _layer(inputs: MessageInputs) -> HeadLayer:
    shapes, dtype = _shapes(inputs), inputs.weight.dtype
    of_weight, of_expand = shapes
    rooms = {"W": of_weight, "scales": of_expand, "shifts": of_expand}
    tables = [workspace(name, dtype, _numbers(shape)).numpy() for name, shape in rooms.items()]
    matrices = (inputs.weight, inputs.scale_expand, inputs.shift_expand)
    _turn(head_tables.to_tables, inputs, matrices, tables)
    codes = [inputs.scale_code, inputs.shift_code]
    if of_expand.padded > of_expand.inner:
        codes = [pad(code, (0, of_expand.padded - of_expand.inner)) for code in codes]
    return HeadLayer(
        rows_of(inputs),
        columns_of(inputs),
        tables[0],
        (flat(codes[0]), tables[1]),
        (flat(codes[1]), tables[2]),
        Sizes(of_weight.groups, of_weight.padded, of_weight.inner, of_expand.padded),
        inputs.values.detach().numpy().dtype.type(inputs.slope),
        inputs.source.numpy(),
        inputs.ptr.numpy(),
    )


def _by_columns(layer: HeadLayer) -> bool:
    """Whether few features meet the same column of the same W_v: these had better be sorted."""
    rows, columns = layer.rows, layer.columns
    if rows.dense or columns.ptr.size == 1:
        return False
    visits = layer.source.size * rows.col.size // max(1, rows.crow.size - 1)
    return visits <= _MANY * columns.seen.size


def _room(layer: HeadLayer, *, listed: bool) -> Room:
    """A block's; without a limit on edges and what comes along them unless that is listed."""
    size, rows, no_limit = layer.sizes.code, layer.rows, 1 << 62
    targets, uses = max(_TARGETS, _CODES // size), max(rows.width, _USES)
    if not listed:
        return Room(targets, uses, no_limit, no_limit)
    longest = int(np.diff(rows.crow).max(initial=0))
    # Dropout leaves other lengths at every step; the room, and what is kept for it, shall stay.
    return Room(targets, uses, _EDGES, max(_VISITS, 1 << longest.bit_length()))


def _own(layer: HeadLayer, room: Room, threads: int) -> list[HeadScratch]:
    rows = layer.rows
    shape = (rows.values.dtype, rows.width, layer.sizes.out, layer.sizes.code, room)
    make = partial(_make_scratch, layer, room)
    buffers: list[HeadScratch] = scratch(("heads", *shape), threads, make)
    return buffers


def _make_scratch(layer: HeadLayer, room: Room) -> HeadScratch:
    sizes, width, dtype = layer.sizes, layer.rows.width, layer.rows.values.dtype

    def floats(size: int) -> Floats:
        return aligned(size, dtype)

    def ints(size: int) -> NDArray[np.int32]:
        return np.zeros(size, np.int32)

    code, made = LANES * room.targets * sizes.code, 2 * LANES * room.uses
    weights = LANES * width * sizes.out
    if room.edges > _EDGES:
        visits = Visits(ints(0), ints(0), floats(0), floats(0))
    else:
        pulls = room.edges * sizes.out // LANES * PULL
        visits = Visits(ints(VISIT * room.visits), ints(width), floats(made), floats(pulls))
    return HeadScratch(
        (floats(code), floats(code)),
        (floats(code), floats(code)),
        floats(made),
        floats(weights),
        floats(weights),
        floats(2 * LANES * LANES),
        ints(width),
        Uses(ints(width), ints(room.uses), ints(room.uses)),
        visits,
    )


def forward(inputs: MessageInputs) -> Tensor:
    """Messages (E, H, out)."""
    layer, work = _layer(inputs), work_of(inputs)
    z = inputs.weight.new_empty(inputs.source.numel(), *inputs.weight.shape[:2])
    cuts = chunks_for(inputs.ptr.numel() - 1)
    pieces = cuts * layer.sizes.groups
    room = _room(layer, listed=False)
    own = _own(layer, room, threads_for(pieces, work))
    bounds = cut_targets(layer.rows, layer.columns, layer.ptr, cuts)
    run(head_lanes.forward, pieces, work, layer, bounds, room, flat(z), own=own)
    return z


def backward(inputs: MessageInputs, grad_z: Tensor, *, for_values: bool) -> MessageGrads:
    """Gradients of every input."""
    layer, work, dtype = _layer(inputs), 2 * work_of(inputs), inputs.weight.dtype
    groups, entries = layer.sizes.groups, inputs.values.numel() if for_values else 0
    expand = layer.scale[1].size
    each = layer.weight.size + 2 * expand + groups * entries
    # Half as many copies as elsewhere: these are eight times as large, and none fits a cache.
    cuts = chunks_for(inputs.ptr.numel() - 1, each * dtype.itemsize, 2 * groups)
    weights = workspace("weight", dtype, cuts, layer.weight.size).numpy()
    expands = workspace("expands", dtype, 2, cuts, expand).numpy()
    values = workspace("values", dtype, cuts * groups, entries)
    padded, size = layer.sizes.code, inputs.scale_code.size(2)
    codes = [torch.empty(*inputs.scale_code.shape[:2], padded, dtype=dtype) for _ in range(2)]
    of_codes = (flat(codes[0]), flat(codes[1]))
    grads = Grads(flat(grad_z), weights, of_codes, expands, values.numpy())
    listed = _by_columns(layer)
    kernel = head_columns.backward if listed else head_backward.backward
    room = _room(layer, listed=listed)
    own = _own(layer, room, threads_for(cuts * groups, work))
    bounds = cut_targets(layer.rows, layer.columns, layer.ptr, cuts)
    run(kernel, cuts * groups, work, layer, bounds, room, grads, own=own)
    given = (inputs.weight, inputs.scale_expand, inputs.shift_expand)
    weight, scale, shift = (torch.empty(part.shape, dtype=dtype) for part in given)
    _turn(head_tables.from_tables, inputs, (weight, scale, shift), (weights, *expands))
    code = [part[..., :size].contiguous() for part in codes]
    return MessageGrads(
        values.sum(0).view_as(inputs.values) if for_values else None,
        weight,
        *(code[0], scale, code[1], shift),
    )
