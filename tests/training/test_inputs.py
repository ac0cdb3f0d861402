from __future__ import annotations

import pytest
import torch

from nodewise.ops.sparse import SparseRows
from nodewise.training.inputs import prepare

X = torch.zeros(4, 10)
X[0, :3], X[1, 5], X[3, 2:4] = 2.0, 7.0, torch.tensor([3.0, 4.0])


@pytest.mark.parametrize(
    ("how", "expected"),
    [("row-sum", [1, 1, 0, 1]), ("none", [6, 7, 0, 7])],
)
def test_rows_sum_to_one_and_empty_rows_stay_empty(how: str, expected: list[float]) -> None:
    for x in (X, X.to_sparse_csr()):
        rows = prepare(x, how)
        assert isinstance(rows, SparseRows)
        torch.testing.assert_close(rows.dense().sum(1), torch.tensor(expected).float())


def test_unit_rows_have_length_one() -> None:
    rows = prepare(X, "unit")
    assert isinstance(rows, SparseRows)
    torch.testing.assert_close(rows.dense()[3, 2:4], torch.tensor([0.6, 0.8]))
    assert rows.dense()[2].abs().sum() == 0


def test_dense_features_stay_dense_however_they_come() -> None:
    x = torch.rand(5, 4) + 0.1
    for given in (x, x.to_sparse_csr()):
        rows = prepare(given, "row-sum")
        assert isinstance(rows, torch.Tensor)
        torch.testing.assert_close(rows, x / x.sum(1, keepdim=True))


def test_signs_do_not_cancel() -> None:
    x = torch.tensor([[1.0, -1.0]])
    torch.testing.assert_close(prepare(x, "row-sum"), torch.tensor([[0.5, -0.5]]))
