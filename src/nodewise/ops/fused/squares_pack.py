"""Between torch tensors and the kernel for sums of squares: pad, pack, run, unpack."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from nodewise.ops.fused.squares import GROUP, Sizes
from nodewise.ops.fused.squares import squares as kernel
from nodewise.ops.fused.threads import run, threads_for, workspace

# Heads and parts of the nodes together: so many pieces of work for each generator, or a few more.
_PIECES = 8
# Numbers in a panel of `expand`. A smaller one would stay in the innermost cache with its gradient
# and the rows beside it, but sums across lanes, once a panel, would cost more than that saves.
_PANEL = 4096


def _generator(code: Tensor, expand: Tensor) -> tuple[Any, Any]:
    """The arrays that `squares` takes: heads in front, the nodes' codes and the features last."""
    nodes, heads, size = code.shape
    more, wider = -size % 4, -expand.size(1) % 32
    heads_first = pad(code.detach().transpose(0, 1), (0, more, 0, -nodes % GROUP))
    columns_last = pad(expand.detach().transpose(1, 2), (0, wider, 0, more))
    return heads_first.reshape(heads, -1).numpy(), columns_last.reshape(heads, -1).numpy()


def _sizes(code: Tensor, expand: Tensor) -> Sizes:
    nodes, heads, size = code.shape
    width, size = expand.size(1) + -expand.size(1) % 32, size + -size % 4
    panel = min(width, max(32, _PANEL // max(size, 1) // 32 * 32))
    groups = -(-nodes // GROUP)
    parts = max(1, min(_PIECES // heads, groups // 4))
    return Sizes(groups, heads, size, width, panel, parts)


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
    codes = torch.zeros(2, sizes.heads, of_head * gradient, dtype=dtype)
    room = sizes.bottleneck * sizes.width
    expands = workspace("squares", dtype, pieces, room * gradient).zero_()
    work = (3 if gradient else 1) * 2 * sizes.heads * GROUP * sizes.groups * room
    buffers = workspace("panels", dtype, threads_for(pieces, work), 64 + GROUP * sizes.panel)
    generators = (_generator(*scale), _generator(*shift))
    given = (generators, sizes, code.numpy(force=True).dtype.type(slope), sums.numpy())
    own = list(buffers.numpy())
    run(kernel, pieces, work, *given, codes.numpy(), expands.numpy(), own=own)
    a, b = sums.view(2, -1).sum(1).to(dtype)
    if not gradient:
        return a.clone(), b.clone(), code.new_empty(0), code.new_empty(0)
    of_four = (sizes.bottleneck // 4, GROUP, 4)
    of_code = codes.view(2, sizes.heads, sizes.groups, *of_four).permute(0, 2, 4, 1, 3, 5)
    of_code = of_code.flatten(4).flatten(1, 2)[:, : code.size(0), :, : code.size(2)]
    of_expand = expands.view(2, sizes.heads, sizes.parts, sizes.bottleneck, -1).sum(2)
    of_expand = of_expand[:, :, : expand.size(2), : expand.size(1)].transpose(2, 3)
    return a.clone(), b.clone(), of_code.contiguous(), of_expand.contiguous()
