"""Between torch tensors and the message kernels: pad, pack, run, unpack."""

from __future__ import annotations

from threading import local
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from nodewise.ops.dropconnect import DropConnect
from nodewise.ops.fused.layer import (
    Blocks,
    Drop,
    Generator,
    Layer,
    Rows,
    Scratch,
    make_scratch,
)
from nodewise.ops.fused.messages import forward as forward_kernel
from nodewise.ops.fused.messages_backward import Grads
from nodewise.ops.fused.messages_backward import backward as backward_kernel
from nodewise.ops.fused.threads import chunks_for, run, threads_for, workspace
from nodewise.ops.inputs import MessageGrads, MessageInputs


def _round_up(size: int, step: int) -> int:
    return -(-size // step) * step


def _flat(tensor: Tensor) -> Any:
    return tensor.detach().contiguous().view(-1).numpy()


def _rows(inputs: MessageInputs) -> Rows:
    width = inputs.weight.size(2)
    if inputs.crow is None or inputs.col is None:
        nothing, columns = np.zeros(1, np.int32), np.arange(width, dtype=np.int32)
        return Rows(nothing, columns, _flat(inputs.values), width, True)
    return Rows(inputs.crow.numpy(), inputs.col.numpy(), _flat(inputs.values), width, False)


def _blocks(weight: Tensor) -> Blocks:
    heads, out, width = weight.shape
    per_head = _round_up(out, 8) // 8
    padded = pad(weight.detach(), (0, 0, 0, per_head * 8 - out))
    lanes_last = padded.view(heads, per_head, 8, width).transpose(2, 3)
    return Blocks(_flat(lanes_last), heads, out, per_head)


def _unblock(flat: Tensor, like: Tensor) -> Tensor:
    heads, out, width = like.shape
    return flat.view(heads, -1, width, 8).transpose(2, 3).reshape(heads, -1, width)[:, :out]


def _generator(code: Tensor, expand: Tensor) -> Generator:
    bottleneck, width = expand.size(2), expand.size(1)
    more, wider = _round_up(bottleneck, 2) - bottleneck, _round_up(width, 16) - width
    columns_last = pad(expand.detach().transpose(1, 2), (0, wider, 0, more))
    flat_code = _flat(pad(code.detach(), (0, more)) if more else code)
    return Generator(flat_code, _flat(columns_last), bottleneck + more, width + wider)


def _drop(inputs: MessageInputs, number: Any) -> Drop:
    if inputs.seed is None:
        return Drop(0, 0, number(1))
    threshold = DropConnect(inputs.rate, inputs.seed).threshold
    return Drop(int(inputs.seed), threshold, number(1 / (1 - inputs.rate)))


def _layer(inputs: MessageInputs) -> Layer:
    number = inputs.values.detach().numpy().dtype.type
    return Layer(
        _rows(inputs),
        _blocks(inputs.weight),
        _generator(inputs.scale_code, inputs.scale_expand),
        _generator(inputs.shift_code, inputs.shift_expand),
        number(inputs.slope),
        inputs.source.numpy(),
        inputs.ptr.numpy(),
        _drop(inputs, number),
    )


def _work(inputs: MessageInputs) -> int:
    """Multiply-adds of the generators alone: the part that is never small."""
    return 2 * inputs.scale_code.numel() * inputs.weight.size(2)


_kept = local()


def _scratch(layer: Layer, threads: int) -> list[Scratch]:
    """Buffers for each thread, kept for the next layer of the same shape."""
    blocks, scale = layer.blocks, layer.scale
    sizes = (layer.rows.width, scale.bottleneck, blocks.heads * blocks.per_head)
    key = (layer.rows.values.dtype, *sizes, threads)
    kept: dict[tuple[Any, ...], list[Scratch]] = _kept.__dict__.setdefault("scratch", {})
    if key not in kept:
        kept[key] = [make_scratch(layer) for _ in range(threads)]
    return kept[key]


def forward(inputs: MessageInputs) -> tuple[Tensor, Tensor, Tensor]:
    """Messages (E, H, out) and the sums of (a_v - 1)^2 and b_v^2."""
    heads, out, _ = inputs.weight.shape
    layer, work = _layer(inputs), _work(inputs)
    z = inputs.weight.new_empty(inputs.source.numel(), heads, out)
    squares = torch.zeros(chunks_for(inputs.ptr.numel() - 1), 2, dtype=torch.float64)
    chunks = squares.size(0)
    own = _scratch(layer, threads_for(chunks, work))
    run(forward_kernel, chunks, work, layer, _flat(z), squares.numpy(), own=own)
    a, b = squares.sum(0).to(z.dtype)
    return z, a.clone(), b.clone()


def backward(
    inputs: MessageInputs, grad_z: Tensor, grad_a: Tensor, grad_b: Tensor, *, for_values: bool
) -> MessageGrads:
    """Gradients of every input."""
    layer, work, dtype = _layer(inputs), 3 * _work(inputs), inputs.weight.dtype
    sizes = {
        "weight": layer.blocks.weight.size,
        "expands": 2 * layer.scale.expand.size,
        "values": inputs.values.numel() if for_values else 0,
    }
    chunks = chunks_for(inputs.ptr.numel() - 1, sum(sizes.values()) * dtype.itemsize)
    weight = workspace("weight", dtype, chunks, sizes["weight"])
    codes = workspace("codes", dtype, 2, layer.scale.code.size)
    expands = workspace("expands", dtype, 2, chunks, sizes["expands"] // 2)
    values = workspace("values", dtype, chunks, sizes["values"])
    given = (_flat(grad_z), torch.stack([grad_a, grad_b]).numpy())
    filled = (part.zero_().numpy() for part in (weight, codes, expands, values))
    own = _scratch(layer, threads_for(chunks, work))
    run(backward_kernel, chunks, work, layer, Grads(*given, *filled), own=own)
    size, width = inputs.scale_code.size(2), inputs.weight.size(2)
    code = codes.view(2, *inputs.scale_code.shape[:2], -1)[..., :size]
    expand = expands.sum(1).view(2, layer.blocks.heads, -1, layer.scale.padded)
    expand = expand[:, :, :size, :width].transpose(2, 3)
    return MessageGrads(
        values.sum(0).view_as(inputs.values) if for_values else None,
        _unblock(weight.sum(0), inputs.weight),
        *(code[0], expand[0], code[1], expand[1]),
    )
