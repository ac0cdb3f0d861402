"""From torch tensors to the arrays that kernels take."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from nodewise.ops.fused.layer import Columns, Rows
from nodewise.ops.inputs import MessageInputs


def flat(tensor: Tensor) -> Any:
    """All numbers in a row, as numpy sees them; numpy moves them, which wakes no other thread."""
    return np.ascontiguousarray(tensor.detach().numpy()).reshape(-1)


def rows_of(inputs: MessageInputs) -> Rows:
    """The features, of either kind."""
    width = inputs.weight.size(2)
    if inputs.crow is None or inputs.col is None:
        nothing, columns = np.zeros(1, np.int32), np.arange(width, dtype=np.int32)
        return Rows(nothing, columns, flat(inputs.values), width, True)
    return Rows(flat(inputs.crow), flat(inputs.col), flat(inputs.values), width, False)


def columns_of(inputs: MessageInputs) -> Columns:
    """The columns in use."""
    if inputs.seen_ptr is None or inputs.seen is None:
        return Columns(np.zeros(1, np.int32), np.arange(inputs.weight.size(2), dtype=np.int32))
    return Columns(flat(inputs.seen_ptr), flat(inputs.seen))


def work_of(inputs: MessageInputs) -> int:
    """Multiply-adds of the messages, and of W_v in the columns that they need, roughly."""
    heads, out, width = inputs.weight.shape
    rows = inputs.values.size(0) if inputs.crow is None else inputs.crow.numel() - 1
    visits = inputs.source.numel() * (inputs.values.numel() // max(rows, 1))
    formed = (inputs.ptr.numel() - 1) * width if inputs.seen is None else inputs.seen.numel()
    return heads * (visits * out + formed * (out + 2 * inputs.scale_code.size(2)))
