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
# Numbers in a panel of `expand`: its gradient and the rows beside it fill the innermost cache.
_PANEL = 2048


def _flat(tensor: Tensor) -> Any:
    return tensor.contiguous().view(-1).numpy()


def _generator(code: Tensor, expand: Tensor) -> tuple[Any, Any]:
    """The arrays that `squares` takes: `code` as it is, `expand` with its features last."""
    more, wider = -expand.size(2) % 2, -expand.size(1) % 16
    columns_last = pad(expand.detach().transpose(1, 2), (0, wider, 0, more))
    return _flat(pad(code.detach(), (0, more))), _flat(columns_last)


def _sizes(code: Tensor, expand: Tensor) -> Sizes:
    nodes, heads, size = code.shape
    width, size = expand.size(1) + -expand.size(1) % 16, size + size % 2
    panel = min(width, max(32, _PANEL // max(size, 1) // 16 * 16))
    parts = max(1, min(_PIECES // heads, nodes // (4 * GROUP)))
    return Sizes(nodes, heads, size, width, panel, parts)


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
    codes = torch.zeros(2, sizes.nodes * sizes.heads * sizes.bottleneck * gradient, dtype=dtype)
    room = sizes.bottleneck * sizes.width
    expands = workspace("squares", dtype, pieces, room * gradient).zero_()
    work = (3 if gradient else 1) * 2 * sizes.heads * sizes.nodes * room
    buffers = workspace(
        "panels",
        dtype,
        threads_for(pieces, work),
        GROUP * (sizes.bottleneck + sizes.panel),
    )
    generators = (_generator(*scale), _generator(*shift))
    given = (generators, sizes, code.numpy(force=True).dtype.type(slope), sums.numpy())
    own = list(buffers.numpy())
    run(kernel, pieces, work, *given, codes.numpy(), expands.numpy(), own=own)
    a, b = sums.view(2, -1).sum(1).to(dtype)
    if not gradient:
        return a.clone(), b.clone(), code.new_empty(0), code.new_empty(0)
    of_code = codes.view(2, *code.shape[:2], -1)[..., : code.size(2)]
    of_expand = expands.view(2, sizes.heads, sizes.parts, sizes.bottleneck, -1).sum(2)
    of_expand = of_expand[:, :, : expand.size(2), : expand.size(1)].transpose(2, 3)
    return a.clone(), b.clone(), of_code.contiguous(), of_expand.contiguous()
