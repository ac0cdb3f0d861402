"""Between torch tensors and the kernels that send every sparse row through its own weights."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from nodewise.ops.fused import own_sparse
from nodewise.ops.fused.arrays import flat
from nodewise.ops.fused.layer import Floats, aligned, padded_width
from nodewise.ops.fused.own_sparse import OwnRows, OwnScratch, Sizes
from nodewise.ops.fused.simd import LANES
from nodewise.ops.fused.threads import chunks_for, run, scratch, threads_for, workspace
from nodewise.ops.inputs import MessageGrads, OwnInputs


def _sizes(inputs: OwnInputs) -> Sizes:
    (heads, out, width), (nodes, _, size) = inputs.weight.shape, inputs.scale_code.shape
    size, padded = size + -size % LANES, out + -out % LANES
    each = heads * width * (2 * size + padded) * inputs.weight.element_size()
    # Half as many copies of the table's gradient as elsewhere: adding them up takes its time, too.
    return Sizes(nodes, heads, width, size, padded, out, chunks_for(nodes, each, 2))


def _parts(table: Floats, inputs: OwnInputs, sizes: Sizes) -> tuple[Floats, Floats, Floats]:
    """Where in a table both generators and W are, (heads, width, ...), without what pads them."""
    code, size = inputs.scale_code.size(2), sizes.size
    table = table.reshape(sizes.heads, sizes.width, 2 * size + sizes.out)
    return (
        table[..., :code],
        table[..., size : size + code],
        table[..., 2 * size : 2 * size + sizes.outputs],
    )


def _table(inputs: OwnInputs, sizes: Sizes) -> Floats:
    shape = (sizes.heads, sizes.width, 2 * sizes.size + sizes.out)
    table: Floats = workspace("table", inputs.weight.dtype, *shape).numpy()
    if sizes.size > inputs.scale_code.size(2) or sizes.out > sizes.outputs:
        table[:] = 0
    scale, shift, weight = _parts(table, inputs, sizes)
    scale[:], shift[:] = inputs.scale_expand.detach().numpy(), inputs.shift_expand.detach().numpy()
    weight[:] = inputs.weight.detach().numpy().transpose(0, 2, 1)
    return table.reshape(-1)


def _layer(inputs: OwnInputs) -> OwnRows:
    assert inputs.crow is not None and inputs.col is not None
    sizes, values = _sizes(inputs), flat(inputs.values)
    more = sizes.size - inputs.scale_code.size(2)
    codes = [inputs.scale_code, inputs.shift_code]
    if more:
        codes = [pad(code, (0, more)) for code in codes]
    return OwnRows(
        inputs.crow.numpy(),
        inputs.col.numpy(),
        values,
        _table(inputs, sizes),
        flat(codes[0]),
        flat(codes[1]),
        sizes,
        values.dtype.type(inputs.slope),
    )


def _longest(layer: OwnRows) -> int:
    """Room for a row's entries: as many as columns, or more where columns come twice."""
    return padded_width(max(layer.sizes.width, int(np.diff(layer.crow).max(initial=0))))


def _make_scratch(layer: OwnRows, padded: int) -> OwnScratch:
    sizes = layer.sizes
    rooms = (padded, 3 * LANES, sizes.out, sizes.size, sizes.size, sizes.out)
    buffers = (aligned(room, layer.values.dtype) for room in rooms)
    return OwnScratch(np.zeros(padded, np.int64), *buffers)


def _own(layer: OwnRows, pieces: int, work: int) -> list[OwnScratch]:
    sizes, padded = layer.sizes, _longest(layer)
    shape = ("own rows", layer.values.dtype, padded, sizes.size, sizes.out)
    make = partial(_make_scratch, layer, padded)
    buffers: list[OwnScratch] = scratch(shape, threads_for(pieces, work), make)
    return buffers


def _work(layer: OwnRows) -> int:
    sizes = layer.sizes
    return layer.values.size * sizes.heads * (2 * sizes.size + sizes.out)


def forward(inputs: OwnInputs) -> Tensor:
    """W_v h_v, shape (nodes, H, out)."""
    layer = _layer(inputs)
    sizes, work = layer.sizes, _work(layer)
    out = torch.empty(sizes.nodes, sizes.heads, sizes.outputs, dtype=inputs.weight.dtype)
    pieces = chunks_for(sizes.nodes)
    own = _own(layer, pieces, work)
    run(own_sparse.forward, pieces, work, layer, pieces, flat(out), own=own)
    return out


def backward(inputs: OwnInputs, grad: Tensor, *, for_values: bool) -> MessageGrads:
    """Gradients of every input."""
    layer, dtype = _layer(inputs), inputs.weight.dtype
    sizes, work = layer.sizes, 3 * _work(layer)
    tables = workspace("tables", dtype, sizes.cuts, layer.table.size).numpy()
    shape = (sizes.nodes, sizes.heads, sizes.size)
    codes = [torch.empty(shape, dtype=dtype) for _ in range(2)]
    values = torch.zeros(inputs.values.numel() if for_values else 0, dtype=dtype)
    given = (layer, flat(grad), tables, *map(flat, codes), values.numpy())
    run(own_sparse.backward, sizes.cuts, work, *given, own=_own(layer, sizes.cuts, work))
    scale, shift, weight = map(torch.from_numpy, _parts(tables.sum(0), inputs, sizes))
    code = [part[..., : inputs.scale_code.size(2)].contiguous() for part in codes]
    # Outputs of a registered op may not share memory.
    apart = partial(torch.clone, memory_format=torch.contiguous_format)
    return MessageGrads(
        values if for_values else None,
        apart(weight.transpose(1, 2)),
        *(code[0], apart(scale), code[1], apart(shift)),
    )
