"""Edges are tidied, over generated graphs."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nodewise.data.published.readers import undirected
from nodewise.data.tables.edges import connect

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30)


@given(PAIRS)
def test_undirected_edges_are_those_of_the_other_reader(pairs: list[tuple[int, int]]) -> None:
    ends = np.array(pairs).T
    edges = connect(ends, 6)
    np.testing.assert_array_equal(edges.index, undirected(ends, 6))
    assert edges.index.shape[1] == 2 * edges.count
    assert edges.count + sum(edges.dropped.values()) == len(pairs)


@given(PAIRS)
def test_directed_edges_are_networkx_edges(pairs: list[tuple[int, int]]) -> None:
    graph = nx.DiGraph((u, v) for u, v in pairs if u != v)
    edges = connect(np.array(pairs).T, 6, directed=True)
    assert edges.index.T.tolist() == sorted(map(list, graph.edges))
    assert edges.count + sum(edges.dropped.values()) == len(pairs)


@given(PAIRS)
def test_degrees_count_neighbors_in_either_direction(pairs: list[tuple[int, int]]) -> None:
    graph = nx.Graph((u, v) for u, v in pairs if u != v)
    graph.add_nodes_from(range(6))
    expected = [graph.degree(node) for node in range(6)]
    for directed in (True, False):
        assert connect(np.array(pairs).T, 6, directed=directed).degrees.tolist() == expected


def test_a_weight_follows_its_edge() -> None:
    ends = np.array([[3, 0, 1, 1], [1, 2, 3, 1]])
    edges = connect(ends, 4, weight=np.array([0.5, 2.0, 9.0, 7.0]))
    assert edges.index.tolist() == [[0, 1, 2, 3], [2, 3, 0, 1]]
    assert edges.weight is not None and edges.weight.tolist() == [2.0, 0.5, 2.0, 0.5]


def test_repeats_of_another_weight_are_counted() -> None:
    ends = np.array([[0, 1, 0, 0, 2, 2, 2], [1, 0, 1, 1, 2, 2, 0]])
    weight = np.array([1.0, 2.0, 1.0, 3.0, 5.0, 6.0, 7.0])
    assert connect(ends, 3, weight=weight).disagreeing == 2
    assert connect(ends, 3, weight=weight, directed=True).disagreeing == 1
    assert connect(ends, 3).disagreeing == 0
