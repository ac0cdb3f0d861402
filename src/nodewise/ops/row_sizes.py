"""The sizes of rows of features, by which rows are divided to normalize them."""

from __future__ import annotations

import torch
from torch import Tensor

from nodewise.ops.sparse import Features


def row_sizes(x: Features, how: str) -> Tensor:
    """The size of each row, shape (N,), differentiable; one where a row is zero.

    Args:
        x: Features, dense or `SparseRows`.
        how: "row-sum" for the sum of absolute values, "unit" for the length.
    """
    if isinstance(x, Tensor):
        total = x.abs().sum(1) if how == "row-sum" else x.square().sum(1)
    else:
        parts = x.values.abs() if how == "row-sum" else x.values.square()
        lengths = (x.crow[1:] - x.crow[:-1]).long()
        total = torch.segment_reduce(parts, "sum", lengths=lengths, unsafe=True)
    # Before the root, whose gradient at zero is infinite.
    total = torch.where(total == 0, torch.ones_like(total), total)
    return total if how == "row-sum" else total.sqrt()
