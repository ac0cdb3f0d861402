from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings

from nodewise.ops.rows import SparseRows, as_features, take_rows
from tests.graphs import MessageCase, message_cases


@settings(max_examples=40, deadline=None, derandomize=True)
@given(message_cases())
def test_all_ways_in_and_out_agree(case: MessageCase) -> None:
    x = case.x
    for rows in (SparseRows.from_dense(x), as_features(x.to_sparse_csr())):
        assert isinstance(rows, SparseRows)
        assert torch.equal(rows.dense(), x)
        index = torch.arange(x.size(0) - 1, -1, -1)
        assert torch.equal(rows.take(index).dense(), x[index])
        columns = rows.columns
        assert torch.equal(rows.values[columns.entry], x.t()[x.t() != 0])
        assert columns.ccol.diff().tolist() == (x != 0).sum(0).tolist()


def test_dropout_keeps_the_places_and_the_mean() -> None:
    torch.manual_seed(0)
    rows = SparseRows.from_dense(torch.ones(100, 50))
    dropped = rows.dropout(0.4, training=True)
    assert dropped.columns is rows.columns
    assert dropped.values.mean().item() == pytest.approx(1.0, abs=0.05)
    assert dropped.values.unique().tolist() == pytest.approx([0, 1 / 0.6])
    assert torch.equal(rows.dropout(0.4, training=False).values, rows.values)


def test_a_csr_tensor_is_taken_apart_once() -> None:
    x = torch.eye(3).to_sparse_csr()
    first, again = as_features(x), as_features(x)
    assert isinstance(first, SparseRows) and isinstance(again, SparseRows)
    assert first.columns is again.columns
    dense = torch.eye(3)
    assert as_features(dense) is dense
    assert torch.equal(take_rows(dense, torch.tensor([2])), dense[2:])
