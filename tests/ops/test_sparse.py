from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings

from nodewise.nn.localized_conv import LocalizedConv
from nodewise.ops.dispatch import dropout, pool_rows, project
from nodewise.ops.neighbors import Neighborhood
from nodewise.ops.sparse import SparseRows, as_features, take_rows
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
    dropped = dropout(rows, 0.4, training=True)
    assert dropped.columns is rows.columns
    assert dropped.values.mean().item() == pytest.approx(1.0, abs=0.05)
    assert dropped.values.unique().tolist() == pytest.approx([0, 1 / 0.6])
    assert torch.equal(dropout(rows, 0.4, training=False).values, rows.values)


@pytest.mark.parametrize("width", [12, 3])
def test_sums_follow_rows_and_weights_that_are_changed_in_place(width: int) -> None:
    rows = SparseRows.from_dense(torch.eye(12) if width == 12 else torch.ones(12, width) / width)
    assert rows.is_crowded == (width == 3)
    neighbors = Neighborhood.from_edges(torch.tensor([[0, 3, 5], [1, 1, 2]]), 12)
    weight = torch.ones(3)
    sums = []
    for change in (rows.values, weight, None):
        found = pool_rows(rows, weight, neighbors)
        sums.append(float((found.dense() if isinstance(found, SparseRows) else found).sum()))
        if change is not None:
            change.mul_(2)
    assert sums == pytest.approx([3, 6, 12])


def test_sums_made_in_inference_mode_do_not_stand_in_the_way_of_learning() -> None:
    data, rows = torch.tensor([[0, 3, 5], [1, 1, 2]]), SparseRows.from_dense(torch.eye(12))
    conv = LocalizedConv(12, 4, "mean", edge_level=False, bottleneck=3)
    block = conv.block(data, (12, 12))
    with torch.inference_mode():
        seen = conv(rows, block)
    out = conv(rows, block)
    out.sum().backward()
    assert torch.equal(out, seen) and conv.weight.grad is not None


def test_a_csr_tensor_is_taken_apart_once() -> None:
    x = torch.eye(3).to_sparse_csr()
    first, again = as_features(x), as_features(x)
    assert isinstance(first, SparseRows) and isinstance(again, SparseRows)
    assert first.columns is again.columns
    dense = torch.eye(3)
    assert as_features(dense) is dense
    assert torch.equal(take_rows(dense, torch.tensor([2])), dense[2:])


@pytest.mark.parametrize("share", [0.02, 0.6])
def test_products_and_their_gradients_are_those_of_the_dense_matrix(share: float) -> None:
    """Sparse rows are walked, crowded ones are multiplied as a dense matrix."""
    torch.manual_seed(0)
    x = torch.randn(30, 20, dtype=torch.float64) * (torch.rand(30, 20) < share)
    weight = torch.randn(7, 20, dtype=torch.float64, requires_grad=True)
    rows = SparseRows.from_dense(x)
    assert rows.is_crowded == (share > 0.5)
    torch.testing.assert_close(project(rows, weight), x @ weight.t())
    rows = rows.with_values(rows.values.clone().requires_grad_())
    for _ in range(2):  # a graph that was walked back once must not be met again
        (project(rows, weight) ** 2).sum().backward()
    x.requires_grad_()
    (2 * (x @ weight.t()) ** 2).sum().backward()
    assert rows.values.grad is not None and x.grad is not None
    torch.testing.assert_close(rows.values.grad, x.grad[x != 0])


def test_a_dense_matrix_is_made_once_for_the_same_values() -> None:
    rows = SparseRows.from_dense(torch.eye(3))
    assert rows.dense() is rows.dense()
    assert torch.equal(rows.with_values(2 * rows.values).dense(), 2 * torch.eye(3))
