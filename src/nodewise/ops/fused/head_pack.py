"""Between torch tensors and the kernels that have heads in lanes: pad, pack, run, unpack."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from nodewise.ops.fused import head_lanes
from nodewise.ops.fused.arrays import columns_of, flat, rows_of, work_of
from nodewise.ops.fused.head_lanes import HeadLayer, HeadScratch, Sizes
from nodewise.ops.fused.layer import aligned, padded_width
from nodewise.ops.fused.messages_backward import Grads
from nodewise.ops.fused.simd import LANES
from nodewise.ops.fused.threads import chunks_for, run, scratch, threads_for, workspace
from nodewise.ops.inputs import MessageGrads, MessageInputs


def serves(inputs: MessageInputs) -> bool:
    """Whether heads come in eights, and no weight is dropped."""
    return inputs.weight.size(0) % LANES == 0 and inputs.seed is None


def _lanes(tensor: Tensor) -> Tensor:
    """Heads in front, (H, a, b), to (groups, b, a, 8)."""
    heads, *rest = tensor.shape
    return tensor.detach().view(heads // LANES, LANES, *rest).permute(0, 3, 2, 1)


def _heads(flat: Tensor, groups: int, *shape: int) -> Tensor:
    """The way back from (groups, b, a, 8)."""
    return flat.view(groups, *shape, LANES).permute(0, 3, 2, 1).flatten(0, 1)


def _generator(code: Tensor, expand: Tensor) -> tuple[Any, Any]:
    more = (0, -code.size(2) % 4)
    code, expand = (pad(part, more) if more[1] else part for part in (code, expand))
    return flat(code), flat(_lanes(expand.transpose(1, 2)))


def _layer(inputs: MessageInputs) -> HeadLayer:
    heads, out, _ = inputs.weight.shape
    weight = pad(inputs.weight.detach(), (0, 0, 0, -out % LANES))
    size = inputs.scale_code.size(2)
    sizes = Sizes(heads // LANES, weight.size(1), out, size + -size % 4)
    return HeadLayer(
        rows_of(inputs),
        columns_of(inputs),
        flat(_lanes(weight)),
        _generator(inputs.scale_code, inputs.scale_expand),
        _generator(inputs.shift_code, inputs.shift_expand),
        sizes,
        inputs.values.detach().numpy().dtype.type(inputs.slope),
        inputs.source.numpy(),
        inputs.ptr.numpy(),
    )


def _own(layer: HeadLayer, threads: int) -> list[HeadScratch]:
    shape = (layer.rows.values.dtype, layer.rows.width, layer.sizes.out, layer.sizes.code)
    buffers: list[HeadScratch] = scratch(("heads", *shape), threads, partial(_make_scratch, layer))
    return buffers


def _make_scratch(layer: HeadLayer) -> HeadScratch:
    width, dtype = layer.rows.width, layer.rows.values.dtype
    code, rows = LANES * layer.sizes.code, LANES * width
    weights = rows * layer.sizes.out
    sizes = (code, code, rows, rows, weights, weights, 2 * LANES * LANES)
    scale_code, shift_code, *buffers = (aligned(size, dtype) for size in sizes)
    scale, shift, local, gathered, spare = buffers
    seen, slot = np.zeros(padded_width(width), np.int32), np.zeros(width, np.int32)
    return HeadScratch(scale_code, shift_code, scale, shift, local, gathered, spare, seen, slot)


def forward(inputs: MessageInputs) -> Tensor:
    """Messages (E, H, out)."""
    layer, work = _layer(inputs), work_of(inputs)
    z = inputs.weight.new_empty(inputs.source.numel(), *inputs.weight.shape[:2])
    cuts = chunks_for(inputs.ptr.numel() - 1)
    pieces = cuts * layer.sizes.groups
    own = _own(layer, threads_for(pieces, work))
    run(head_lanes.forward, pieces, work, layer, cuts, flat(z), own=own)
    return z


def backward(inputs: MessageInputs, grad_z: Tensor, *, for_values: bool) -> MessageGrads:
    """Gradients of every input."""
    layer, work, dtype = _layer(inputs), 2 * work_of(inputs), inputs.weight.dtype
    groups, entries = layer.sizes.groups, inputs.values.numel() if for_values else 0
    expand = layer.scale[1].size
    each = layer.weight.size + 2 * expand + groups * entries
    # Half as many copies as elsewhere: these are eight times as large, and none fits a cache.
    cuts = chunks_for(inputs.ptr.numel() - 1, each * dtype.itemsize, 2 * groups)
    weight = workspace("weight", dtype, cuts, layer.weight.size)
    expands = workspace("expands", dtype, 2, cuts, expand)
    values = workspace("values", dtype, cuts * groups, entries)
    weights, to_expands, to_values = (part.zero_().numpy() for part in (weight, expands, values))
    width, padded, size = layer.rows.width, layer.sizes.code, inputs.scale_code.size(2)
    codes = [torch.empty(*inputs.scale_code.shape[:2], padded, dtype=dtype) for _ in range(2)]
    grads = Grads(flat(grad_z), weights, (flat(codes[0]), flat(codes[1])), to_expands, to_values)
    own = _own(layer, threads_for(cuts * groups, work))
    run(head_lanes.backward, cuts * groups, work, layer, grads, own=own)
    code = [part[..., :size].contiguous() for part in codes]
    expanded = [
        _heads(part.sum(0), groups, width, padded)[:, :size].transpose(1, 2).contiguous()
        for part in expands
    ]
    of_weight = _heads(weight.sum(0), groups, width, layer.sizes.out)[:, : layer.sizes.real]
    return MessageGrads(
        values.sum(0).view_as(inputs.values) if for_values else None,
        of_weight.contiguous(),
        *(code[0], expanded[0], code[1], expanded[1]),
    )
