from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from nodewise.models.baselines.walks import Adjacency, random_walks, walks_from
from nodewise.ops.fused import threads
from nodewise.randomness import FrozenRandom, splitmix64

# A path 0 - 1 - 2 with a loop and a repeat, a triangle 3 - 4 - 5 of which one edge is given in one
# direction, and a node 6 alone.
EDGES = torch.tensor([[0, 1, 1, 2, 2, 1, 1, 3, 4, 5], [1, 0, 2, 1, 2, 2, 1, 4, 5, 3]])


@pytest.fixture
def graph() -> Adjacency:
    return Adjacency.from_edges(EDGES, 7)


def slow_walk(graph: Adjacency, node: int, walk: int, length: int, seed: int) -> list[int]:
    """One walk, a step at a time, from NumPy's arithmetic."""

    def mix(key: int) -> int:
        return int(splitmix64(np.array([key % 2**64], np.uint64))[0])

    stream = mix(mix(int(FrozenRandom(seed, "walks").bits(1)[0]) + node) + walk)
    path = [node]
    for step in range(1, length):
        around = graph.neighbors[graph.ptr[path[-1]] : graph.ptr[path[-1] + 1]]
        choice = ((mix(stream + step) >> 32) * len(around)) >> 32
        path.append(int(around[choice]) if len(around) else path[-1])
    return path


def test_adjacency_is_undirected_and_simple(graph: Adjacency) -> None:
    around = [graph.neighbors[a:b].tolist() for a, b in zip(graph.ptr, graph.ptr[1:], strict=False)]
    assert around == [[1], [0, 2], [1], [4, 5], [3, 5], [3, 4], []]
    assert graph.num_nodes == 7


def test_walks_are_those_of_the_slow_form(graph: Adjacency) -> None:
    found = random_walks(graph, walks=3, length=6, seed=5)
    expected = [slow_walk(graph, node, walk, 6, 5) for walk in range(3) for node in range(7)]
    assert found.tolist() == expected
    assert found.dtype == np.int32


def test_walks_may_start_where_one_likes(graph: Adjacency) -> None:
    found = walks_from(graph, np.array([1, 6, 1, 4]), length=6, seed=5)
    starts = enumerate([1, 6, 1, 4])
    assert found.tolist() == [slow_walk(graph, node, walk, 6, 5) for walk, node in starts]


def test_a_lonely_node_stays_where_it_is(graph: Adjacency) -> None:
    assert random_walks(graph, walks=1, length=4, seed=0)[6].tolist() == [6, 6, 6, 6]


def test_steps_are_uniform_over_neighbors(graph: Adjacency) -> None:
    second = random_walks(graph, walks=4000, length=2, seed=1).reshape(4000, 7, 2)[:, :, 1]
    for node, pair in ((1, [0, 2]), (3, [4, 5])):
        numbers, counts = np.unique(second[:, node], return_counts=True)
        assert numbers.tolist() == pair
        assert abs(counts[0] - 2000) < 130  # four standard deviations


def test_seeds_give_other_walks_and_threads_the_same(
    graph: Adjacency, monkeypatch: pytest.MonkeyPatch
) -> None:
    def walks(seed: int) -> NDArray[np.int32]:
        return random_walks(graph, walks=50, length=20, seed=seed)

    alone = walks(0)
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 0)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert np.array_equal(walks(0), alone)
    finally:
        torch.set_num_threads(before)
    assert not np.array_equal(walks(1), alone)
