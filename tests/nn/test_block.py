from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from nodewise.nn.block import Block, BlockRule, block_of, build_block
from tests.graphs import edge_lists


def edges_of(block: Block) -> list[tuple[int, int]]:
    return list(zip(block.neighbors.source.tolist(), block.neighbors.target.tolist(), strict=True))


def build(edge_index: Tensor, nodes: int, rule: BlockRule) -> Block:
    return build_block(edge_index, None, nodes, nodes, rule, torch.float64)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(edge_lists())
def test_gcn_weights_are_those_of_pyg(graph: tuple[Tensor, int]) -> None:
    edge_index, nodes = graph
    block = build(edge_index, nodes, BlockRule("set", "symmetric", keeps_loop_weights=True))
    assert block.coefficient is not None
    reference_edges, reference = gcn_norm(edge_index, None, nodes, dtype=torch.float64)
    ours, theirs = torch.zeros(2, nodes, nodes, dtype=torch.float64)
    ours.index_put_(
        (block.neighbors.target, block.neighbors.source), block.coefficient, accumulate=True
    )
    theirs.index_put_((reference_edges[1], reference_edges[0]), reference, accumulate=True)
    torch.testing.assert_close(ours, theirs)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(edge_lists())
def test_means_sum_to_one_over_each_context(graph: tuple[Tensor, int]) -> None:
    edge_index, nodes = graph
    for rule in (BlockRule("set", "mean"), BlockRule("set", "mean", self_weight=2.0)):
        block = build(edge_index, nodes, rule)
        assert block.coefficient is not None
        total = torch.zeros(nodes, dtype=torch.float64)
        total.index_add_(0, block.neighbors.target, block.coefficient)
        torch.testing.assert_close(total, torch.ones_like(total))


def test_self_counted_twice() -> None:
    block = build(torch.tensor([[1, 2], [0, 0]]), 3, BlockRule("set", "mean", self_weight=2.0))
    assert block.coefficient is not None
    assert edges_of(block)[:3] == [(1, 0), (2, 0), (0, 0)]
    torch.testing.assert_close(
        block.coefficient[:3], torch.tensor([0.25, 0.25, 0.5], dtype=torch.float64)
    )


@pytest.mark.parametrize(
    ("loops", "expected"),
    [
        ("none", [(0, 0), (1, 0), (0, 1)]),
        ("set", [(1, 0), (0, 0), (0, 1), (1, 1)]),
        ("extra", [(0, 0), (1, 0), (0, 0), (0, 1), (1, 1)]),
    ],
)
def test_what_a_loop_is(loops: str, expected: list[tuple[int, int]]) -> None:
    block = build(torch.tensor([[0, 1, 0], [0, 0, 1]]), 2, BlockRule(loops))  # type: ignore[arg-type]
    assert edges_of(block) == expected


def test_edge_ids_point_into_the_callers_edges() -> None:
    edge_index = torch.tensor([[2, 1, 0, 1], [1, 0, 0, 2]])
    block = build(edge_index, 3, BlockRule("set"))
    for edge, (source, target) in zip(
        block.neighbors.edge_id.tolist(), edges_of(block), strict=True
    ):
        given = edge_index[:, edge].tolist() if edge >= 0 else [target, target]
        assert given == [source, target]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(edge_lists())
def test_restriction_keeps_the_targets_edges_and_no_others(graph: tuple[Tensor, int]) -> None:
    edge_index, nodes = graph
    whole = build(edge_index, nodes, BlockRule("set", "mean"))
    targets = torch.arange(nodes - 1, -1, -2)
    part, needed = whole.restrict(targets)
    back = [(int(needed[u]), int(targets[v])) for u, v in edges_of(part)]
    expected = [pair for v in targets.tolist() for pair in edges_of(whole) if pair[1] == v]
    assert back == expected
    assert torch.equal(part.rows_of_targets(needed), targets)
    assert set(needed.tolist()) == {u for u, _ in expected} | set(targets.tolist())


def test_a_block_is_built_once_per_edge_index() -> None:
    edge_index = torch.tensor([[0, 1], [1, 0]])
    args = (None, 2, 2, BlockRule("set"), torch.float32)
    first = block_of(edge_index, *args)
    assert block_of(edge_index, *args) is first
    assert block_of(edge_index.clone(), *args) is not first
    edge_index[0, 0] = 1
    assert block_of(edge_index, *args) is not first


def test_a_cut_takes_the_first_by_number_and_may_keep_the_node_itself() -> None:
    star = torch.tensor([[0, 1, 2, 3], [4, 4, 4, 4]])
    cut = build(star, 5, BlockRule("set", max_neighbors=2))
    kept = build(star, 5, BlockRule("set", max_neighbors=2, keeps_self=True))
    assert [source for source, target in edges_of(cut) if target == 4] == [0, 1]
    assert [source for source, target in edges_of(kept) if target == 4] == [0, 4]
