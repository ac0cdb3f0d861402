"""Between torch tensors and the kernel for sums of squares: run it, add up its parts."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from nodewise.ops.fused.arrays import flat
from nodewise.ops.fused.panel_pack import panel_of
from nodewise.ops.fused.panels import GROUP
from nodewise.ops.fused.squares import Sizes
from nodewise.ops.fused.squares import squares as kernel
from nodewise.ops.fused.threads import run, threads_for, workspace

# Heads and parts of the nodes together: so many pieces of work for each generator, or a few more.
_PIECES = 8
# Columns in a panel: with codes of eight in single precision, a panel of `expand`, its gradient and
# the rows beside it stay in the innermost cache. Fewer would leave more sums across lanes.
_COLUMNS = 384
# Numbers in a panel of `expand`, unless 32 columns are more: for a core's own cache.
_PANEL = 32768


def _sizes(code: Tensor, expand: Tensor) -> Sizes:
    (nodes, heads, size), columns = code.shape, expand.size(1)
    padded, groups = max(4, size + -size % 4), -(-nodes // GROUP)
    parts = max(1, min(_PIECES // heads, groups // 4))
    panel = min(_COLUMNS, panel_of(columns, padded, _PANEL))
    return Sizes(nodes, heads, size, columns, groups, padded, panel, parts)


def squares(
    scale: tuple[Tensor, Tensor], shift: tuple[Tensor, Tensor], slope: float, *, gradient: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sums of (a_v - 1)^2 and b_v^2, and half their gradients by codes and expands.

    Returns:
        Two sums, the gradients by both codes (2, targets, H, bottleneck) and by both expands
        (2, H, in, bottleneck); these are empty unless asked for.
    """
    if abs(slope) > 1:
        return _of_steep(scale, shift, slope, gradient=gradient)
    code, expand = scale
    sizes, dtype = _sizes(code, expand), code.dtype
    pieces = 2 * sizes.heads * sizes.parts
    sums = np.zeros(pieces)
    codes = torch.empty((2, *code.shape) if gradient else (2, 0), dtype=dtype)
    expands = torch.empty((2, *expand.shape) if gradient else (2, 0), dtype=dtype)
    parts = expands.view(2 * sizes.heads, -1)
    if sizes.parts > 1:
        parts = workspace("squares", dtype, pieces, parts.size(1))
    work = (3 if gradient else 1) * 2 * code.numel() * sizes.columns
    some = -(-sizes.groups // sizes.parts) * GROUP
    room = (GROUP + 2 * sizes.bottleneck) * sizes.panel + 2 * some * sizes.bottleneck
    buffers = workspace("panels", dtype, threads_for(pieces, work), 64 + room)
    generators = [
        (flat(code), flat(expand).reshape(sizes.heads, -1)) for code, expand in (scale, shift)
    ]
    number = generators[0][0].dtype.type
    given = (tuple(generators), sizes, number(slope), gradient, sums)
    found = (codes.view(2, -1).numpy(), parts.numpy())
    run(kernel, pieces, work, *given, *found, own=list(buffers.numpy()))
    if sizes.parts > 1:
        of_heads = parts.numpy().reshape(2 * sizes.heads, sizes.parts, -1)
        np.sum(of_heads, 1, out=expands.view(2 * sizes.heads, -1).numpy())
    a, b = torch.from_numpy(sums.reshape(2, -1).sum(1)).to(dtype)
    return a.clone(), b.clone(), codes, expands


def _of_steep(
    scale: tuple[Tensor, Tensor], shift: tuple[Tensor, Tensor], slope: float, *, gradient: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The same where the slope is steeper than one: leaky_relu(t) is -slope leaky_relu'(-t) then.

    The slope of that one is the inverse.
    """
    pairs = [(-code, expand) for code, expand in (scale, shift)]
    a, b, codes, expands = squares(pairs[0], pairs[1], 1 / slope, gradient=gradient)
    more = slope * slope
    return more * a, more * b, -more * codes, more * expands
