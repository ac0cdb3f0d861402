from __future__ import annotations

import pytest
import torch
from torch_geometric.nn import aggr

from nodewise.errors import InputError
from nodewise.nn.block import BlockRule, build_block
from nodewise.nn.context import make_context

EDGES = torch.tensor([[1, 2], [0, 0]])
BLOCK = build_block(EDGES, None, 3, 3, BlockRule("set", "symmetric"), torch.float32)
X = torch.tensor([[1.0, 0.0], [4.0, 2.0], [1.0, 7.0]])


@pytest.mark.parametrize(
    ("name", "first_row"),
    [("mean", [2.0, 3.0]), ("max", [4.0, 7.0]), ("sum", [1 / 3 + 5 / 3**0.5, 9 / 3**0.5])],
)
def test_pools_the_members_of_c_v(name: str, first_row: list[float]) -> None:
    pooled = make_context(name)(X, BLOCK)
    torch.testing.assert_close(pooled[0], torch.tensor(first_row))
    torch.testing.assert_close(pooled[1:], X[1:])


@pytest.mark.parametrize("many", [aggr.MultiAggregation(["mean", "max"]), aggr.Set2Set(2, 1)])
def test_a_context_that_changes_the_size_of_rows_is_refused(many: aggr.Aggregation) -> None:
    with pytest.raises(InputError, match="one row of the same size, 2, for each node"):
        make_context(many)(X, BLOCK)


def test_several_aggregations_make_one_context() -> None:
    both = make_context(aggr.MultiAggregation(["mean", "max"], mode="mean"))(X, BLOCK)
    torch.testing.assert_close(both[0], torch.tensor([3.0, 5.0]))


def test_an_empty_context_is_zero_not_nan() -> None:
    block = build_block(EDGES, None, 3, 3, BlockRule("none"), torch.float32)
    assert torch.equal(make_context("mean")(X, block)[1:], torch.zeros(2, 2))


def test_linear_contexts_change_places_with_a_product() -> None:
    weight = torch.randn(2, 5)
    for name in ("mean", "sum"):
        context = make_context(name)
        assert context.is_linear
        torch.testing.assert_close(context(X @ weight, BLOCK), context(X, BLOCK) @ weight)
    assert not make_context("max").is_linear
