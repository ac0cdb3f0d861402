"""Between torch tensors and the kernel for dropout."""

from __future__ import annotations

import torch
from torch import Tensor

from nodewise.ops.dropconnect import DropConnect
from nodewise.ops.fused.arrays import flat
from nodewise.ops.fused.dropout import dropout as kernel
from nodewise.ops.fused.threads import chunks_for, run


def dropout(x: Tensor, drop: DropConnect) -> Tensor:
    """x without the dropped entries, the others grown."""
    out = torch.empty(x.shape, dtype=x.dtype)
    given, chunks = flat(x), chunks_for(x.numel() // 8)
    grow = given.dtype.type(1 / (1 - drop.rate))
    how = (int(drop.seed), drop.threshold, grow)
    run(kernel, chunks, 2 * x.numel(), chunks, given, *how, flat(out))
    return out
