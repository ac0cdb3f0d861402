"""Between torch tensors and the kernels that have heads in lanes: pad, pack, run, unpack."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from nodewise.ops.fused import head_lanes, head_tables
from nodewise.ops.fused.arrays import columns_of, flat, rows_of, work_of
from nodewise.ops.fused.cuts import cut_targets
from nodewise.ops.fused.head_lanes import HeadLayer, HeadScratch, Sizes
from nodewise.ops.fused.head_tables import Shape
from nodewise.ops.fused.layer import aligned
from nodewise.ops.fused.messages_backward import Grads
from nodewise.ops.fused.simd import LANES
from nodewise.ops.fused.threads import chunks_for, run, scratch, threads_for, workspace
from nodewise.ops.inputs import MessageGrads, MessageInputs

# Columns in use, of all targets of a block together: often enough each column comes again, and the
# rows that steps hand on leave room for a table in a core's own cache.
_BLOCK = 8192


def serves(inputs: MessageInputs) -> bool:
    """Whether heads come in eights, and no weight is dropped."""
    return inputs.weight.size(0) % LANES == 0 and inputs.seed is None


def _shapes(inputs: MessageInputs) -> tuple[Shape, Shape]:
    """Those of W and of what expands codes, (heads, ...) as they lie and in tables."""
    (heads, out, width), size = inputs.weight.shape, inputs.scale_code.size(2)
    groups = heads // LANES
    return (
        Shape(groups, out, width, out + -out % LANES),
        Shape(groups, size, width, size + -size % 4),
    )


def _room(shape: Shape) -> int:
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
    tables = [workspace(name, dtype, _room(shape)).numpy() for name, shape in rooms.items()]
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


def _own(layer: HeadLayer, threads: int) -> list[HeadScratch]:
    shape = (layer.rows.values.dtype, layer.rows.width, layer.sizes.out, layer.sizes.code, _BLOCK)
    buffers: list[HeadScratch] = scratch(("heads", *shape), threads, partial(_make_scratch, layer))
    return buffers


def _make_scratch(layer: HeadLayer) -> HeadScratch:
    width, dtype = layer.rows.width, layer.rows.values.dtype
    rows, weights = LANES * max(width, _BLOCK), LANES * width * layer.sizes.out
    sizes = (LANES * layer.sizes.code, rows, rows, weights, weights, 2 * LANES * LANES)
    code, scale, shift, local, gathered, spare = (aligned(size, dtype) for size in sizes)
    slot = np.zeros(width, np.int32)
    return HeadScratch(code, scale, shift, local, gathered, spare, slot)


def forward(inputs: MessageInputs) -> Tensor:
    """Messages (E, H, out)."""
    layer, work = _layer(inputs), work_of(inputs)
    z = inputs.weight.new_empty(inputs.source.numel(), *inputs.weight.shape[:2])
    cuts = chunks_for(inputs.ptr.numel() - 1)
    pieces = cuts * layer.sizes.groups
    own = _own(layer, threads_for(pieces, work))
    bounds = cut_targets(layer.rows, layer.columns, layer.ptr, cuts)
    run(head_lanes.forward, pieces, work, layer, bounds, flat(z), own=own)
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
    own = _own(layer, threads_for(cuts * groups, work))
    bounds = cut_targets(layer.rows, layer.columns, layer.ptr, cuts)
    run(head_lanes.backward, cuts * groups, work, layer, bounds, grads, own=own)
    given = (inputs.weight, inputs.scale_expand, inputs.shift_expand)
    weight, scale, shift = (torch.empty(part.shape, dtype=dtype) for part in given)
    _turn(head_tables.from_tables, inputs, (weight, scale, shift), (weights, *expands))
    code = [part[..., :size].contiguous() for part in codes]
    return MessageGrads(
        values.sum(0).view_as(inputs.values) if for_values else None,
        weight,
        *(code[0], scale, code[1], shift),
    )
