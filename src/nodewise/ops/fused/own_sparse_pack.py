"""Between torch tensors and the kernels that send every sparse row through its own weights."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from nodewise.ops.fused import own_sparse, own_tables
from nodewise.ops.fused.arrays import flat
from nodewise.ops.fused.cuts import cut_rows
from nodewise.ops.fused.layer import Floats, aligned
from nodewise.ops.fused.own_sparse import OwnRows, OwnScratch
from nodewise.ops.fused.own_tables import Shape
from nodewise.ops.fused.simd import LANES
from nodewise.ops.fused.threads import chunks_for, run, scratch, threads_for, workspace
from nodewise.ops.inputs import MessageGrads, OwnInputs


def _shape(inputs: OwnInputs) -> Shape:
    (heads, out, width), code = inputs.weight.shape, inputs.scale_code.size(2)
    return Shape(heads, width, code, out, code + -code % LANES, out + -out % LANES)


def _table_size(shape: Shape) -> int:
    return shape.heads * shape.width * (2 * shape.size + shape.out)


def _table(inputs: OwnInputs, shape: Shape) -> Floats:
    size = _table_size(shape)
    table: Floats = workspace("table", inputs.weight.dtype, size).numpy()
    expands = (flat(inputs.scale_expand), flat(inputs.shift_expand))
    given = (expands, flat(inputs.weight), shape, table)
    run(own_tables.to_table, -(-shape.width // LANES), size, *given)
    return table


def _layer(inputs: OwnInputs) -> OwnRows:
    assert inputs.crow is not None and inputs.col is not None
    shape, values = _shape(inputs), flat(inputs.values)
    codes = [inputs.scale_code, inputs.shift_code]
    if shape.size > shape.code:
        codes = [pad(code, (0, shape.size - shape.code)) for code in codes]
    return OwnRows(
        flat(inputs.crow)[: inputs.scale_code.size(0) + 1],  # there may be sources that hear nobody
        flat(inputs.col),
        values,
        _table(inputs, shape),
        flat(codes[0]),
        flat(codes[1]),
        shape,
        values.dtype.type(inputs.slope),
    )


def _make_scratch(layer: OwnRows) -> OwnScratch:
    shape = layer.shape
    codes = 2 * shape.size
    rooms = (LANES, codes, codes, LANES, shape.out, shape.out)
    buffers = (aligned(room, layer.values.dtype) for room in rooms)
    return OwnScratch(np.zeros(LANES, layer.col.dtype), *buffers)


def _own(layer: OwnRows, pieces: int, work: int) -> list[OwnScratch]:
    numbers = (layer.values.dtype, layer.col.dtype)
    kind = ("own rows", *numbers, layer.shape.size, layer.shape.out)
    make = partial(_make_scratch, layer)
    buffers: list[OwnScratch] = scratch(kind, threads_for(pieces, work), make)
    return buffers


def _work(layer: OwnRows) -> int:
    shape = layer.shape
    return layer.values.size * shape.heads * (2 * shape.size + shape.out)


def forward(inputs: OwnInputs) -> Tensor:
    """W_v h_v, shape (nodes, H, out)."""
    layer, nodes = _layer(inputs), inputs.scale_code.size(0)
    work, pieces = _work(layer), chunks_for(nodes)
    out = torch.empty(nodes, *inputs.weight.shape[:2], dtype=inputs.weight.dtype)
    own = _own(layer, pieces, work)
    bounds = cut_rows(layer.crow, pieces)
    run(own_sparse.forward, pieces, work, layer, bounds, flat(out), own=own)
    return out


def backward(inputs: OwnInputs, grad: Tensor, *, for_values: bool) -> MessageGrads:
    """Gradients of every input."""
    layer, dtype, nodes = _layer(inputs), inputs.weight.dtype, inputs.scale_code.size(0)
    shape, work = layer.shape, 3 * _work(layer)
    size = _table_size(shape)
    # Half as many copies of the table's gradient as elsewhere: adding them up takes its time, too.
    cuts = chunks_for(nodes, size * dtype.itemsize, 2)
    tables = workspace("tables", dtype, cuts, size).numpy()
    codes = [torch.empty(nodes, shape.heads, shape.size, dtype=dtype) for _ in range(2)]
    values = torch.zeros(inputs.values.numel() if for_values else 0, dtype=dtype)
    found = (tables, *map(flat, codes), values.numpy())
    given = (layer, cut_rows(layer.crow, cuts), flat(grad), *found)
    run(own_sparse.backward, cuts, work, *given, own=_own(layer, cuts, work))
    scale, shift, weight = (
        torch.empty(part.shape, dtype=dtype)
        for part in (inputs.scale_expand, inputs.shift_expand, inputs.weight)
    )
    matrices = ((flat(scale), flat(shift)), flat(weight))
    run(own_tables.from_tables, -(-shape.width // LANES), cuts * size, tables, shape, *matrices)
    if shape.size > shape.code:
        codes = [part[..., : shape.code].contiguous() for part in codes]
    return MessageGrads(values if for_values else None, weight, codes[0], scale, codes[1], shift)
