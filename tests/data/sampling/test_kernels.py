from __future__ import annotations

import numpy as np
import pytest

from nodewise.data.sampling.kernels import (
    count_reached,
    number_nodes,
    sample_edges,
    sum_edges,
    take_rows,
)

pytest.importorskip("numba")


def sampled(degree: int, count: int, key: int) -> list[int]:
    """The edges that one node of that degree keeps; the source of edge e is 100 + e."""
    colptr, row = np.array([0, degree]), np.arange(100, 100 + degree)
    e_id, source = np.full(count, -1), np.full(count, -1)
    target, ptr = np.zeros(1, np.int64), np.array([0, count])
    sample_edges(colptr, row, target, np.uint64(key), ptr, e_id, source)
    assert (source == 100 + e_id).all()
    return list(e_id)


@pytest.mark.parametrize(("degree", "count"), [(6, 2), (80, 40), (9, 9)])
def test_edges_are_drawn_without_repeats_and_all_alike(degree: int, count: int) -> None:
    """One way for few edges of many, another for many; all of them need no draw."""
    draws, hits = 3000, np.zeros(degree)
    for key in range(draws):
        found = sampled(degree, count, key)
        assert len(set(found)) == count and min(found) >= 0 and max(found) < degree
        hits[found] += 1
    share = count / degree
    four_sigma = 4 * np.sqrt(draws * share * (1 - share))
    assert np.abs(hits - draws * share).max() <= four_sigma


def test_nodes_are_numbered_as_they_first_occur() -> None:
    nodes = np.random.default_rng(0).integers(0, 10**12, 300).repeat(2)
    n_id, table = np.full(601, -1), np.full(2048, -1)
    n_id[0], local = nodes[5], np.full(len(nodes), -1)
    assert number_nodes(nodes[5:6].copy(), n_id, 0, table, local[:1]) == 1
    known = number_nodes(nodes, n_id, 1, table, local)
    expected = {int(nodes[5]): 0}
    for node in nodes.tolist():
        expected.setdefault(node, len(expected))
    assert known == len(expected) and n_id[:known].tolist() == list(expected)
    assert local.tolist() == [expected[node] for node in nodes.tolist()]


# Edges 0 -> 0, 1 -> 0, 2 -> 1 and, twice, 1 -> 1.
COLPTR, ROW = np.array([0, 2, 5, 5]), np.array([0, 1, 2, 1, 1])


def test_reached_nodes_are_counted() -> None:
    reached = np.zeros(3, np.int64)
    count_reached(COLPTR, ROW, np.array([0, 2]), reached)
    assert reached.tolist() == [2, 1, 1]


@pytest.mark.parametrize("weighted", [True, False])
def test_loops_and_weights_are_summed(weighted: bool) -> None:
    weight = np.array([1.0, 2, 4, 8, 16]) if weighted else np.zeros(0)
    loops, sums = np.zeros(3, np.int32), [np.zeros(3 if weighted else 0) for _ in range(3)]
    assert sum_edges(COLPTR, ROW, weight, loops, *sums) == 3
    assert loops.tolist() == [1, 2, 0]
    if weighted:
        assert [s.tolist() for s in sums] == [[1, 16, 0], [1, 24, 0], [3, 28, 0]]


def test_rows_are_taken_in_the_order_asked_for() -> None:
    x, out = np.arange(12.0).reshape(4, 3), np.zeros((3, 3))
    take_rows(x, np.array([3, 0, 3]), out)
    assert (out == x[[3, 0, 3]]).all()
