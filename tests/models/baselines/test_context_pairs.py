from __future__ import annotations

import math
from collections import Counter

import pytest
import torch
from torch import Tensor

from nodewise.errors import InputError
from nodewise.models.baselines.context_pairs import PairRule, Pairs, sample_pairs
from nodewise.models.baselines.walks import Adjacency

# A path 0 - 1 - 2 and an edge 3 - 4.
GRAPH = Adjacency.from_edges(torch.tensor([[0, 1, 3], [1, 2, 4]]), 5)
NODES, LABELS = torch.tensor([4, 0, 2, 1]), torch.tensor([1, 0, 0, 0])
COUNT = 40_000


def draw(rule: PairRule, count: int = COUNT, seed: int = 0) -> Pairs:
    make = torch.Generator().manual_seed(seed)
    return sample_pairs(GRAPH, NODES, LABELS, count, rule, make)


def shares(node: Tensor, context: Tensor) -> dict[tuple[int, int], float]:
    found = Counter(zip(node.tolist(), context.tolist(), strict=True))
    return {pair: times / len(node) for pair, times in found.items()}


def assert_shares(pairs: Pairs, expected: dict[tuple[int, int], float]) -> None:
    """The pairs that are possible, no others, each as often as it should be."""
    found = shares(pairs.node, pairs.context)
    assert found.keys() == expected.keys()
    for pair, share in expected.items():
        five_deviations = 5 * math.sqrt(share / len(pairs.node))
        assert found[pair] == pytest.approx(share, abs=five_deviations), pair


def test_positive_pairs_of_walks() -> None:
    # Two places. From 0 the walk is 0 1, read either way: a tenth for (0, 1), a tenth for (1, 0).
    # From 1 it is 1 0 or 1 2: a twentieth for each of the two, read either way.
    rule = PairRule(positive=1.0, from_walks=1.0, length=2, window=1)
    path = dict.fromkeys([(0, 1), (1, 0), (1, 2), (2, 1)], 0.1 + 0.05)
    assert_shares(draw(rule), path | {(3, 4): 0.2, (4, 3): 0.2})


def test_negative_pairs_of_walks_meet_anyone() -> None:
    rule = PairRule(positive=0.0, from_walks=1.0, length=2, window=1)
    visited = {0: 0.15, 1: 0.3, 2: 0.15, 3: 0.2, 4: 0.2}
    expected = {(i, c): share / 5 for i, share in visited.items() for c in range(5)}
    assert_shares(draw(rule), expected)


def test_positive_pairs_of_labels_share_a_class() -> None:
    # Any labeled node, then another one of its class: 1/4 * 1/2; node 4 is alone in its class.
    expected = {(i, c): 1 / 8 for i in range(3) for c in range(3) if i != c} | {(4, 4): 1 / 4}
    assert_shares(draw(PairRule(positive=1.0, from_walks=0.0)), expected)


def test_negative_pairs_of_labels_do_not() -> None:
    expected = {(i, 4): 1 / 4 for i in range(3)} | {(4, c): 1 / 12 for c in range(3)}
    assert_shares(draw(PairRule(positive=0.0, from_walks=0.0)), expected)


def test_the_window_is_kept_and_used() -> None:
    places = torch.arange(29)
    line = Adjacency.from_edges(torch.stack([places, places + 1]), 30)
    rule = PairRule(positive=1.0, length=10, window=3)
    node, context, _ = sample_pairs(line, NODES, LABELS, 5000, rule)
    apart = (node - context).abs()
    assert set(apart.tolist()) == {0, 1, 2, 3}  # 0 where the walk turned back


def test_r1_and_r2_are_shares_of_the_pairs() -> None:
    pairs = draw(PairRule(positive=0.25, from_walks=0.6))
    assert set(pairs.sign.tolist()) == {-1.0, 1.0}
    assert (pairs.sign > 0).float().mean().item() == pytest.approx(0.25, abs=0.01)
    # Node 3 has no label, so that it is met on walks only: a fifth of their pairs.
    assert (pairs.node == 3).float().mean().item() == pytest.approx(0.6 / 5, abs=0.01)


def test_equal_seeds_draw_equal_pairs() -> None:
    rule = PairRule(from_walks=0.5)
    first, same, other = draw(rule, 50), draw(rule, 50), draw(rule, 50, seed=1)
    assert all(map(torch.equal, first, same))
    assert not all(map(torch.equal, first, other))


def test_without_a_generator_torchs_own_decides() -> None:
    results = []
    for _ in range(2):
        torch.manual_seed(3)
        results.append(sample_pairs(GRAPH, NODES, LABELS, 50))
    assert all(map(torch.equal, *results))


def test_one_class_is_refused() -> None:
    with pytest.raises(InputError, match="at least two classes"):
        sample_pairs(GRAPH, NODES, torch.zeros_like(LABELS), 5)
