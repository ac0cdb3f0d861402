from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck

from nodewise.ops.row_sizes import row_sizes
from nodewise.ops.sparse import SparseRows

X = torch.tensor([[3.0, 0.0, -4.0], [0.0, 0.0, 0.0], [0.0, -2.0, 0.0]])


@pytest.mark.parametrize(("how", "expected"), [("row-sum", [7, 1, 2]), ("unit", [5, 1, 2])])
def test_sizes_of_dense_and_sparse_rows_are_the_same(how: str, expected: list[float]) -> None:
    for x in (X, SparseRows.from_dense(X)):
        torch.testing.assert_close(row_sizes(x, how), torch.tensor(expected).float())


@pytest.mark.parametrize("how", ["row-sum", "unit"])
def test_gradients_of_sizes_are_finite_also_for_rows_of_zeros(how: str) -> None:
    x = X.double().requires_grad_()
    row_sizes(x, how).sum().backward()
    assert x.grad is not None and x.grad.isfinite().all() and not x.grad[1].any()
    assert gradcheck(lambda rows: row_sizes(rows, how), (X.double()[[0]] + 1).requires_grad_())
