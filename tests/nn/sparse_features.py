"""A law of every conv: sparse rows give what the same rows give when they are dense."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import Module

from nodewise.testing import assert_kernels_agree


def assert_sparse_rows_give_what_dense_ones_give(
    conv: Module, x: Tensor, edge_index: Tensor
) -> None:
    """Check it with every kernel, after small features are set to zero."""
    rows = (x * (x > 0.2)).to_sparse_csr()
    assert_kernels_agree(conv, rows, edge_index)
    torch.testing.assert_close(conv(rows, edge_index), conv(rows.to_dense(), edge_index))
