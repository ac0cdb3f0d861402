"""Between torch tensors and the kernel for sums of squares: pad, pack, run, unpack."""

from __future__ import annotations

import torch
from torch import Tensor

from nodewise.ops.fused.panel_pack import from_wide, narrow, panel_of, wide
from nodewise.ops.fused.panels import GROUP
from nodewise.ops.fused.squares import Sizes
from nodewise.ops.fused.squares import squares as kernel
from nodewise.ops.fused.threads import run, threads_for, workspace

# Heads and parts of the nodes together: so many pieces of work for each generator, or a few more.
_PIECES = 8
# Numbers in a panel of `expand`, for a core's own cache. A smaller one would stay in the innermost
# cache with its gradient and the rows beside it, but what is done once a panel, sums across lanes
# among it, costs more than that saves.
_PANEL = 16384


def _sizes(code: Tensor, expand: Tensor) -> Sizes:
    nodes, heads, size = code.shape
    columns, size = expand.size(1), size + -size % 4
    panel, groups = panel_of(columns, size, _PANEL), -(-nodes // GROUP)
    parts = max(1, min(_PIECES // heads, groups // 4))
    return Sizes(nodes, code.size(2), groups, heads, size, columns + -columns % 32, panel, parts)


def squares(
    scale: tuple[Tensor, Tensor], shift: tuple[Tensor, Tensor], slope: float, *, gradient: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sums of (a_v - 1)^2 and b_v^2, and half their gradients by codes and expands.

    Returns:
        Two sums, the gradients by both codes (2, targets, H, bottleneck) and by both expands
        (2, H, in, bottleneck); these are empty unless asked for.
    """
    code, expand = scale
    sizes, dtype = _sizes(code, expand), code.dtype
    pieces = 2 * sizes.heads * sizes.parts
    sums = torch.zeros(pieces, dtype=torch.float64)
    of_head = GROUP * sizes.groups * sizes.bottleneck
    fours = workspace("fours", dtype, 2, sizes.heads, of_head * gradient).zero_()
    codes = torch.empty((2, *code.shape) if gradient else (2, 0), dtype=dtype)
    room = sizes.bottleneck * sizes.width
    expands = workspace("squares", dtype, pieces, room * gradient).zero_()
    work = (3 if gradient else 1) * 2 * sizes.heads * GROUP * sizes.groups * room
    buffers = workspace("panels", dtype, threads_for(pieces, work), 64 + GROUP * sizes.panel)
    generators = [(narrow(code), wide(expand.transpose(1, 2))) for code, expand in (scale, shift)]
    given = (tuple(generators), sizes, code.numpy(force=True).dtype.type(slope), sums.numpy())
    own = list(buffers.numpy())
    found = (fours.numpy(), codes.view(2, -1).numpy(), expands.numpy())
    run(kernel, pieces, work, *given, *found, own=own)
    a, b = sums.view(2, -1).sum(1).to(dtype)
    if not gradient:
        return a.clone(), b.clone(), code.new_empty(0), code.new_empty(0)
    whole = expands.view(2, sizes.heads, sizes.parts, room).sum(2)
    of_expand = from_wide(whole, expand.size(2), expand.size(1)).transpose(2, 3)
    return a.clone(), b.clone(), codes, of_expand.contiguous()
