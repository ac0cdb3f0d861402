from __future__ import annotations

import pytest
import torch
from hypothesis import given
from torch import Tensor

from nodewise.errors import InputError
from nodewise.ops.neighbors import Neighborhood, check_edge_index
from tests.graphs import edge_lists


@given(edge_lists())
def test_edges_are_sorted_by_target_and_keep_their_order_within_one(
    graph: tuple[Tensor, int],
) -> None:
    edge_index, nodes = graph
    neighbors = Neighborhood.from_edges(edge_index, nodes)
    expected = sorted(range(edge_index.size(1)), key=lambda e: int(edge_index[1, e]))
    assert neighbors.edge_id.tolist() == expected
    assert torch.equal(torch.stack([neighbors.source, neighbors.target]), edge_index[:, expected])
    counts = torch.bincount(edge_index[1], minlength=nodes)
    assert torch.equal(neighbors.degree, counts) and neighbors.num_targets == nodes
    assert neighbors.ptr.tolist() == [0, *counts.cumsum(0).tolist()]


@given(edge_lists())
def test_the_reverse_has_the_same_edges_and_points_back(graph: tuple[Tensor, int]) -> None:
    neighbors = Neighborhood.from_edges(*graph)
    reverse = neighbors.reverse
    assert reverse is neighbors.reverse  # cached
    assert torch.equal(reverse.source, neighbors.target[reverse.edge_id])
    assert torch.equal(reverse.target, neighbors.source[reverse.edge_id])
    assert bool((reverse.target.diff() >= 0).all())
    assert (reverse.num_targets, reverse.num_sources) == (
        neighbors.num_sources,
        neighbors.num_targets,
    )


def test_sources_may_be_more_than_targets() -> None:
    neighbors = Neighborhood.from_edges(torch.tensor([[4, 0], [0, 1]]), 2, 5)
    assert neighbors.reverse.degree.tolist() == [1, 0, 0, 0, 1]
    assert neighbors.shares(torch.float64).tolist() == [1, 1]
    assert neighbors.identity().source.tolist() == [0, 1] and neighbors.identity().is_identity


def test_shares_are_the_weights_of_a_mean() -> None:
    neighbors = Neighborhood.from_edges(torch.tensor([[0, 1, 2, 0], [1, 1, 1, 2]]), 3)
    assert neighbors.shares(torch.float64).tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1])
    assert neighbors.each.tolist() == [0, 1, 2, 3, 4]
    assert neighbors.edge_number.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("edges", "says"),
    [
        (torch.tensor([[0, 5], [1, 1]]), r"edge_index\[0, 1\]: .*below 4.*found 5"),
        (torch.tensor([[0, 3], [1, 2]]), r"edge_index\[1, 1\]: .*below 2.*found 2"),
        (torch.tensor([[0], [-1]]), r"edge_index\[1, 0\]: .*found -1"),
        (torch.tensor([0, 1]), "shape"),
        (torch.tensor([[0.0], [1.0]]), "int64"),
    ],
)
def test_the_first_end_that_is_no_node_is_named(edges: Tensor, says: str) -> None:
    with pytest.raises(InputError, match=says):
        check_edge_index(edges, 2, 4)
