"""Between torch tensors and the message kernels: pad, pack, run, unpack."""

from __future__ import annotations

from functools import partial
from typing import Any

from torch import Tensor
from torch.nn.functional import pad

from nodewise.ops.dropconnect import DropConnect
from nodewise.ops.fused.arrays import columns_of, flat, rows_of, work_of
from nodewise.ops.fused.cuts import cut_targets
from nodewise.ops.fused.layer import (
    Blocks,
    Drop,
    Generator,
    Layer,
    Scratch,
    count_tiles,
    make_scratch,
    padded_width,
)
from nodewise.ops.fused.messages import forward as forward_kernel
from nodewise.ops.fused.messages_backward import Grads
from nodewise.ops.fused.messages_backward import backward as backward_kernel
from nodewise.ops.fused.threads import chunks_for, run, scratch, threads_for, workspace
from nodewise.ops.inputs import MessageGrads, MessageInputs


def _round_up(size: int, step: int) -> int:
    return -(-size // step) * step


def _blocks(weight: Tensor) -> Blocks:
    heads, out, width = weight.shape
    per_head = _round_up(out, 8) // 8
    padded = pad(weight.detach(), (0, 0, 0, per_head * 8 - out))
    lanes_last = padded.view(heads, per_head, 8, width).transpose(2, 3)
    return Blocks(flat(lanes_last), heads, out, per_head)


def _unblock(flat: Tensor, like: Tensor) -> Tensor:
    heads, out, width = like.shape
    return flat.view(heads, -1, width, 8).transpose(2, 3).reshape(heads, -1, width)[:, :out]


def _generator(code: Tensor, expand: Tensor, *, all_columns: bool) -> Generator:
    size, width = _round_up(expand.size(2), 8), expand.size(1)
    code, expand = _padded(code, size), _padded(expand, size)
    columns_last = expand.new_empty(0)
    if all_columns:
        columns_last = pad(expand.detach().transpose(1, 2), (0, padded_width(width) - width))
    return Generator(flat(code), flat(expand), flat(columns_last), size)


def _padded(tensor: Tensor, size: int) -> Tensor:
    more = size - tensor.size(-1)
    return pad(tensor.detach(), (0, more)) if more else tensor


def _drop(inputs: MessageInputs, number: Any) -> Drop:
    if inputs.seed is None:
        return Drop(0, 0, number(1))
    threshold = DropConnect(inputs.rate, inputs.seed).threshold
    return Drop(int(inputs.seed), threshold, number(1 / (1 - inputs.rate)))


def _layer(inputs: MessageInputs) -> Layer:
    number = inputs.values.detach().numpy().dtype.type
    return Layer(
        rows_of(inputs),
        columns_of(inputs),
        _blocks(inputs.weight),
        _generator(inputs.scale_code, inputs.scale_expand, all_columns=inputs.seen is None),
        _generator(inputs.shift_code, inputs.shift_expand, all_columns=inputs.seen is None),
        number(inputs.slope),
        inputs.source.numpy(),
        inputs.ptr.numpy(),
        _drop(inputs, number),
    )


def _own(layer: Layer, threads: int) -> list[Scratch]:
    shape = (layer.rows.values.dtype, layer.rows.width, layer.blocks.heads * layer.blocks.per_head)
    buffers: list[Scratch] = scratch(("blocks", *shape), threads, partial(make_scratch, layer))
    return buffers


def forward(inputs: MessageInputs) -> Tensor:
    """Messages (E, H, out)."""
    heads, out, _ = inputs.weight.shape
    layer, work = _layer(inputs), work_of(inputs)
    z = inputs.weight.new_empty(inputs.source.numel(), heads, out)
    cuts = chunks_for(inputs.ptr.numel() - 1)
    pieces = cuts * count_tiles(heads * layer.blocks.per_head)
    own = _own(layer, threads_for(pieces, work))
    bounds = cut_targets(layer.rows, layer.columns, layer.ptr, cuts)
    run(forward_kernel, pieces, work, layer, bounds, flat(z), own=own)
    return z


def backward(inputs: MessageInputs, grad_z: Tensor, *, for_values: bool) -> MessageGrads:
    """Gradients of every input."""
    layer, work, dtype = _layer(inputs), 2 * work_of(inputs), inputs.weight.dtype
    heads, per_head = layer.blocks.heads, layer.blocks.per_head
    groups = count_tiles(heads) if per_head == 1 else 1
    sizes = {
        "weight": layer.blocks.weight.size,
        "expands": 2 * layer.scale.expand.size,
        "values": inputs.values.numel() * groups if for_values else 0,
    }
    cuts = chunks_for(inputs.ptr.numel() - 1, sum(sizes.values()) * dtype.itemsize, groups)
    weight = workspace("weight", dtype, cuts, sizes["weight"])
    codes = workspace("codes", dtype, 2, layer.scale.code.size)
    expands = workspace("expands", dtype, 2, cuts, sizes["expands"] // 2)
    values = workspace("values", dtype, cuts * groups, sizes["values"] // groups)
    filled = (part.zero_().numpy() for part in (weight, codes, expands, values))
    own = _own(layer, threads_for(cuts * groups, work))
    bounds = cut_targets(layer.rows, layer.columns, layer.ptr, cuts)
    given = (layer, bounds, groups, Grads(flat(grad_z), *filled))
    run(backward_kernel, cuts * groups, work, *given, own=own)
    size, padded = inputs.scale_code.size(2), layer.scale.size
    # Workspaces are used again, and outputs of a registered op may not share memory: new tensors.
    code = [part.view(-1, heads, padded)[..., :size].clone() for part in codes]
    expand = [
        part.sum(0).view(*inputs.scale_expand.shape[:2], -1)[..., :size].contiguous()
        for part in expands
    ]
    return MessageGrads(
        values.sum(0).view_as(inputs.values) if for_values else None,
        _unblock(weight.sum(0), inputs.weight).contiguous(),
        *(code[0], expand[0], code[1], expand[1]),
    )
