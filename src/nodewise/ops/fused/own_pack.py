"""Between torch tensors and the kernels that send every row through its own weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from nodewise.ops.fused import own
from nodewise.ops.fused.arrays import flat
from nodewise.ops.fused.own import OwnLayer, Sizes
from nodewise.ops.fused.panel_pack import cut_nodes, from_fours, from_wide, narrow, panel_of, wide
from nodewise.ops.fused.panels import GROUP
from nodewise.ops.fused.threads import run, threads_for, workspace
from nodewise.ops.inputs import MessageGrads, OwnInputs

# Heads and parts of the nodes together: so many pieces of work, or a few more.
_PIECES = 8
# Numbers in a panel of a wide matrix, of which a pass has three and their gradients.
_PANEL = 8192


def _layer(inputs: OwnInputs) -> OwnLayer:
    (heads, out, columns), (nodes, _, size) = inputs.weight.shape, inputs.scale_code.shape
    code, values = size + -size % 4, flat(inputs.values)
    sizes = Sizes(
        nodes,
        columns,
        -(-nodes // GROUP),
        heads,
        code,
        out + -out % 4,
        columns + -columns % 32,
        panel_of(columns, code, _PANEL),
        cut_nodes(nodes, heads, _PIECES),
    )
    generators = (inputs.scale_code, inputs.scale_expand), (inputs.shift_code, inputs.shift_expand)
    scale, shift = ((narrow(code), wide(expand.transpose(1, 2))) for code, expand in generators)
    slope = values.dtype.type(inputs.slope)
    return OwnLayer(values, wide(inputs.weight), scale, shift, sizes, slope)


def _run(kernel: Any, layer: OwnLayer, products: int, *given: Any) -> None:
    """Run with four rows of a panel for each of four matrices, a set for each thread."""
    sizes, dtype = layer.sizes, torch.from_numpy(layer.rows[:0]).dtype
    pieces = sizes.heads * sizes.parts
    work = products * sizes.heads * sizes.nodes * sizes.width * sizes.code
    room = 64 + 4 * GROUP * sizes.panel
    buffers = workspace("own", dtype, threads_for(pieces, work), room)
    run(kernel, pieces, work, layer, *given, own=list(buffers.numpy()))


def forward(inputs: OwnInputs) -> Tensor:
    """W_v h_v, shape (nodes, H, out)."""
    layer, (heads, out, _) = _layer(inputs), inputs.weight.shape
    sizes, nodes = layer.sizes, inputs.scale_code.size(0)
    found = inputs.weight.new_zeros(heads, GROUP * sizes.groups * sizes.out)
    shifted = inputs.weight.new_zeros(heads, GROUP * sizes.groups)
    _run(own.forward, layer, 3, found.numpy(), shifted.numpy())
    scaled = from_fours(found[None], nodes, out)[0]
    return scaled + shifted[:, :nodes].t()[..., None]


def backward(inputs: OwnInputs, grad: Tensor, *, for_values: bool) -> MessageGrads:
    """Gradients of every input."""
    layer, dtype, size = _layer(inputs), inputs.weight.dtype, inputs.scale_code.size(2)
    (heads, out, columns), nodes = inputs.weight.shape, inputs.scale_code.size(0)
    sizes = layer.sizes
    codes = torch.zeros(2, heads, GROUP * sizes.groups * sizes.code, dtype=dtype)
    pieces = (heads, sizes.parts)
    expands = workspace("own expands", dtype, 2, *pieces, sizes.code * sizes.width).zero_()
    weights = workspace("own weights", dtype, 1, *pieces, sizes.out * sizes.width).zero_()
    values = torch.zeros(heads, inputs.values.numel() if for_values else 0, dtype=dtype)
    pulls = (narrow(grad), pad(grad.sum(2).t(), (0, -nodes % GROUP)).contiguous().numpy())
    filled = (codes, expands.flatten(1, 2), weights[0].flatten(0, 1), values)
    _run(own.backward, layer, 8, pulls, *(part.numpy() for part in filled))
    code = from_fours(codes, nodes, size)
    expand = from_wide(expands, size, columns).transpose(2, 3)
    weight = from_wide(weights, out, columns)[0].contiguous()
    of_values = values.sum(0).view_as(inputs.values) if for_values else None
    # Outputs of a registered op may not share memory.
    parts = (code[0], expand[0], code[1], expand[1])
    parts_of_their_own = (part.clone(memory_format=torch.contiguous_format) for part in parts)
    return MessageGrads(of_values, weight, *parts_of_their_own)
