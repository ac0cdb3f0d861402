"""NetworkX's own graphs come in."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

import nodewise as nw
from nodewise.errors import TableError


def adjacency(graph: nw.GraphTable) -> torch.Tensor:
    nodes = graph.data.num_nodes
    weight = graph.data.get("edge_weight", torch.ones(graph.data.num_edges))
    return torch.zeros(nodes, nodes).index_put(tuple(graph.data.edge_index), weight)


def test_the_karate_club_with_its_clubs() -> None:
    club = nx.karate_club_graph()
    graph = nw.from_networkx(club, label="club", weight="weight")
    assert graph.ids == tuple(club.nodes) and graph.data.class_names == ["Mr. Hi", "Officer"]
    assert graph.summary.edges == 78 and graph.summary.labels == {"Mr. Hi": 17, "Officer": 17}
    expected = torch.from_numpy(nx.to_numpy_array(club)).float()
    assert torch.equal(adjacency(graph), expected)
    names = [graph.data.class_names[label] for label in graph.data.y.tolist()]
    assert names == [club.nodes[node]["club"] for node in club]


def test_les_miserables_with_names_as_ids() -> None:
    novel = nx.les_miserables_graph()
    graph = nw.read_graph(novel)
    assert graph.ids[:2] == ("Napoleon", "Myriel") and graph.summary.edges == 254
    assert torch.equal(adjacency(graph), torch.from_numpy(nx.to_numpy_array(novel) > 0).float())
    degrees = np.array([degree for _, degree in novel.degree])
    upper = [int(name.split("<=")[1]) for name in graph.data.feature_names]
    assert np.array(upper)[graph.data.x.argmax(1).numpy()].min() == 1
    assert (np.array(upper)[graph.data.x.argmax(1).numpy()] >= degrees).all()


def test_vectors_become_a_column_for_each_entry() -> None:
    graph = nx.DiGraph([("u", "v"), ("v", "w"), ("w", "z")])
    for i, node in enumerate(graph):
        graph.nodes[node].update(x=[i, 2.5], kind="even" if i % 2 == 0 else "odd")
    read = nw.from_networkx(graph, scale=False)
    assert read.data.feature_names == ["x_0", "x_1", "kind=even", "kind=odd"]
    assert read.data.x[:, 0].tolist() == [0, 1, 2, 3] and read.summary.directed
    assert read.data.edge_index.tolist() == [[0, 1, 2], [1, 2, 3]]


def test_nodes_may_be_tuples_and_edges_parallel() -> None:
    grid = nx.MultiGraph(nx.grid_2d_graph(2, 2))
    grid.add_edge((0, 0), (0, 1))
    graph = nw.from_networkx(grid)
    assert graph.ids == ((0, 0), (0, 1), (1, 0), (1, 1)) and graph.summary.edges == 4
    assert graph.summary.dropped == {"repeated edges": 1}


@pytest.mark.parametrize("graph", [nx.Graph(), nx.empty_graph(3)])
def test_a_graph_without_nodes_or_edges(graph: nx.Graph) -> None:
    with pytest.raises(TableError, match="add"):
        nw.from_networkx(graph)


def test_an_attribute_that_is_not_there() -> None:
    with pytest.raises(TableError, match="did you mean 'club'"):
        nw.from_networkx(nx.karate_club_graph(), label="clbu")
