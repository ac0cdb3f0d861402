"""PyG's graphs are checked and passed on."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

import nodewise as nw
from nodewise.errors import GraphError


def test_a_sound_graph_is_passed_on_unchanged() -> None:
    data = nw.toy_graph()
    graph = nw.read_graph(data)
    assert graph.data is data and graph.ids == tuple(range(1200))
    assert not graph.summary.directed and graph.summary.edges == data.num_edges // 2
    assert sum(graph.summary.labels.values()) == 1200
    assert graph.preprocessing.feature_names == tuple(data.feature_names)


def test_directions_repeats_and_the_unlabeled_are_reported() -> None:
    edges = torch.tensor([[0, 0, 1], [1, 1, 2]])
    graph = nw.read_graph(Data(x=torch.ones(4, 1), edge_index=edges))
    assert graph.summary.directed and graph.summary.edges == 2
    assert graph.summary.unlabeled == 4 and graph.summary.isolated == 1


def test_a_malformed_graph_is_refused() -> None:
    with pytest.raises(GraphError, match="between 0 and 3"):
        nw.read_graph(Data(x=torch.ones(4, 1), edge_index=torch.tensor([[0], [9]])))
