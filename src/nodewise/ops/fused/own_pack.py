"""Between torch tensors and the kernels that send every row through its own weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from nodewise.ops.fused import own
from nodewise.ops.fused.arrays import flat
from nodewise.ops.fused.own import OwnLayer, Sizes
from nodewise.ops.fused.panel_pack import from_wide, narrow, panel_of, wide
from nodewise.ops.fused.panels import GROUP
from nodewise.ops.fused.threads import chunks_for, run, threads_for, workspace
from nodewise.ops.inputs import MessageGrads, OwnInputs

# Numbers in a panel of a wide matrix, of which a pass has three and their gradients.
_PANEL = 8192


def _layer(inputs: OwnInputs) -> OwnLayer:
    (heads, out, columns), (nodes, _, size) = inputs.weight.shape, inputs.scale_code.shape
    code, values = size + -size % 4, flat(inputs.values)
    sizes = Sizes(
        nodes,
        columns,
        size,
        out,
        -(-nodes // GROUP),
        heads,
        code,
        out + -out % 4,
        columns + -columns % 32,
        panel_of(columns, code, _PANEL),
        chunks_for(nodes, heads * (2 * code + out) * columns * inputs.weight.element_size()),
    )
    generators = (inputs.scale_code, inputs.scale_expand), (inputs.shift_code, inputs.shift_expand)
    scale, shift = ((narrow(code), wide(expand.transpose(1, 2))) for code, expand in generators)
    slope = values.dtype.type(inputs.slope)
    return OwnLayer(values, wide(inputs.weight), scale, shift, sizes, slope)


def _run(kernel: Any, layer: OwnLayer, products: int, *given: Any) -> None:
    """Run with four rows of a panel for each of four matrices, a set for each thread."""
    sizes, dtype = layer.sizes, torch.from_numpy(layer.rows[:0]).dtype
    work = products * sizes.heads * sizes.nodes * sizes.width * sizes.code
    room = 64 + 4 * GROUP * sizes.panel
    buffers = workspace("own", dtype, threads_for(sizes.parts, work), room)
    run(kernel, sizes.parts, work, layer, *given, own=list(buffers.numpy()))


def forward(inputs: OwnInputs) -> Tensor:
    """W_v h_v, shape (nodes, H, out)."""
    layer, dtype = _layer(inputs), inputs.weight.dtype
    sizes, (heads, outputs, _) = layer.sizes, inputs.weight.shape
    fours = workspace("fours", dtype, heads, GROUP * sizes.groups * sizes.out).zero_()
    shifted = torch.zeros(heads, GROUP * sizes.groups, dtype=dtype)
    out = torch.empty(sizes.nodes, heads, outputs, dtype=dtype)
    _run(own.forward, layer, 3, fours.numpy(), shifted.numpy(), flat(out))
    return out


def backward(inputs: OwnInputs, grad: Tensor, *, for_values: bool) -> MessageGrads:
    """Gradients of every input."""
    layer, dtype, (heads, out, columns) = _layer(inputs), inputs.weight.dtype, inputs.weight.shape
    sizes = layer.sizes
    pulls = (narrow(grad), pad(grad.sum(2).t(), (0, -sizes.nodes % GROUP)).contiguous().numpy())
    fours = workspace("fours", dtype, 2, heads, GROUP * sizes.groups * sizes.code)
    codes = torch.empty(2, *inputs.scale_code.shape, dtype=dtype)
    pieces = (sizes.parts, heads)
    expands = workspace("own expands", dtype, 2, *pieces, sizes.code * sizes.width).zero_()
    weights = workspace("own weights", dtype, 1, *pieces, sizes.out * sizes.width).zero_()
    values = torch.zeros(inputs.values.numel() if for_values else 0, dtype=dtype)
    wide_ones = (expands.flatten(1, 2), weights[0].flatten(0, 1))
    found = (fours.zero_(), codes.view(2, -1), *wide_ones, values)
    _run(own.backward, layer, 8, pulls, *(part.numpy() for part in found))
    expand = from_wide(expands.sum(1), sizes.bottleneck, columns).transpose(2, 3)
    weight = from_wide(weights.sum(1), out, columns)[0].contiguous()
    of_values = values.view(inputs.values.shape) if for_values else None
    # Outputs of a registered op may not share memory.
    parts = (codes[0], expand[0], codes[1], expand[1])
    apart = (part.clone(memory_format=torch.contiguous_format) for part in parts)
    return MessageGrads(of_values, weight, *apart)
