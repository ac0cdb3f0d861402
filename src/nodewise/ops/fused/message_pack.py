"""Between torch tensors and the message kernels: pad, pack, run, unpack."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from nodewise.ops.dropconnect import DropConnect
from nodewise.ops.fused import messages as kernels
from nodewise.ops.fused.threads import chunks_for, run
from nodewise.ops.inputs import MessageGrads, MessageInputs


def _round_up(size: int, step: int) -> int:
    return -(-size // step) * step


def _rows(inputs: MessageInputs) -> kernels.Rows:
    width = inputs.weight.size(2)
    if inputs.crow is None or inputs.col is None:
        nothing, columns = np.zeros(1, np.int32), np.arange(width, dtype=np.int32)
        return kernels.Rows(nothing, columns, _flat(inputs.values), width, True)
    return kernels.Rows(inputs.crow.numpy(), inputs.col.numpy(), _flat(inputs.values), width, False)


def _flat(tensor: Tensor) -> Any:
    return tensor.detach().contiguous().view(-1).numpy()


def _blocks(weight: Tensor) -> kernels.Blocks:
    heads, out, width = weight.shape
    per_head = _round_up(out, 8) // 8
    padded = pad(weight.detach(), (0, 0, 0, per_head * 8 - out))
    lanes_last = padded.view(heads, per_head, 8, width).transpose(2, 3)
    return kernels.Blocks(_flat(lanes_last), heads, out, per_head)


def _unblock(flat: Tensor, like: Tensor) -> Tensor:
    heads, out, width = like.shape
    return flat.view(heads, -1, width, 8).transpose(2, 3).reshape(heads, -1, width)[:, :out]


def _generator(code: Tensor, expand: Tensor) -> kernels.Generator:
    bottleneck, width = expand.size(2), expand.size(1)
    more, wider = _round_up(bottleneck, 2) - bottleneck, _round_up(width, 16) - width
    columns_last = pad(expand.detach().transpose(1, 2), (0, wider, 0, more))
    flat_code = _flat(pad(code.detach(), (0, more)) if more else code)
    return kernels.Generator(flat_code, _flat(columns_last), bottleneck + more, width + wider)


def _pack(inputs: MessageInputs) -> tuple[Any, ...]:
    number = inputs.values.detach().numpy().dtype.type
    return (
        _rows(inputs),
        _blocks(inputs.weight),
        _generator(inputs.scale_code, inputs.scale_expand),
        _generator(inputs.shift_code, inputs.shift_expand),
        number(inputs.slope),
        inputs.source.numpy(),
        inputs.ptr.numpy(),
        _drop(inputs, number),
    )


def _drop(inputs: MessageInputs, number: Any) -> kernels.Drop:
    if inputs.seed is None:
        return kernels.Drop(0, 0, number(1))
    threshold = DropConnect(inputs.rate, inputs.seed).threshold
    return kernels.Drop(int(inputs.seed), threshold, number(1 / (1 - inputs.rate)))


def forward(inputs: MessageInputs) -> tuple[Tensor, Tensor, Tensor]:
    """Messages (E, H, out) and the sums of (a_v - 1)^2 and b_v^2."""
    heads, out, _ = inputs.weight.shape
    targets = inputs.ptr.numel() - 1
    z = inputs.weight.new_empty(inputs.source.numel(), heads, out)
    squares = torch.zeros(chunks_for(targets), 2, dtype=torch.float64)
    run(kernels.forward, squares.size(0), *_pack(inputs), _flat(z), squares.numpy())
    a, b = squares.sum(0).to(z.dtype)
    return z, a.clone(), b.clone()


def backward(
    inputs: MessageInputs, grad_z: Tensor, grad_a: Tensor, grad_b: Tensor, *, for_values: bool
) -> MessageGrads:
    """Gradients of every input."""
    packed = _pack(inputs)
    _, blocks, scale, shift = packed[:4]
    grad_messages = _flat(grad_z)
    grad_squares = torch.stack([grad_a, grad_b]).numpy()
    partial = blocks.weight.nbytes + scale.expand.nbytes + shift.expand.nbytes
    chunks = chunks_for(inputs.ptr.numel() - 1, partial)
    zeros = inputs.weight.new_zeros
    weight = zeros(chunks, blocks.weight.size)
    codes = zeros(2, scale.code.size)
    expands = zeros(2, chunks, scale.expand.size)
    run(
        kernels.backward,
        chunks,
        *packed,
        grad_messages,
        grad_squares,
        weight.numpy(),
        codes.numpy(),
        expands.numpy(),
    )
    values = _grad_values(packed, grad_messages, inputs.values) if for_values else None
    size = inputs.scale_code.size(2)
    width = inputs.weight.size(2)
    code = codes.view(2, *inputs.scale_code.shape[:2], -1)[..., :size]
    expand = expands.sum(1).view(2, blocks.heads, -1, scale.padded)[:, :, :size, :width]
    expand = expand.transpose(2, 3)
    return MessageGrads(
        values, _unblock(weight.sum(0), inputs.weight), code[0], expand[0], code[1], expand[1]
    )


def _grad_values(packed: tuple[Any, ...], grad_messages: Any, values: Tensor) -> Tensor:
    grad = torch.zeros_like(values)
    parts = 4
    run(kernels.backward_rows, parts, *packed, grad_messages, parts, _flat(grad))
    return grad
