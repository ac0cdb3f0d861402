"""Tables that are read again as they were written."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

import nodewise as nw
from tests.data.writers.test_write_graph import OUTS, assert_same, read


def test_features_called_like_other_columns_are_renamed(tmp_path: Path) -> None:
    names = ["id", "label", "split", "id", " ", "feature_id", "Y"]
    data = Data(torch.eye(7)[:4], torch.tensor([[0, 1, 2], [1, 2, 3]]), feature_names=names)
    written = nw.write_graph(data, tmp_path / "out")
    graph = nw.read_graph(**written.options)
    assert torch.equal(graph.data.x, data.x) and graph.summary.labels == {}
    assert len(set(graph.data.feature_names)) == 7
    assert graph.data.feature_names[1] == "feature_label"


def test_an_edge_that_weighs_more_in_one_direction_keeps_both(tmp_path: Path) -> None:
    data = Data(torch.eye(3), torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    data.edge_weight = torch.tensor([1.0, 2.0, 3.0, 3.0])
    written = nw.write_graph(data, tmp_path / "out")
    again = nw.read_graph(**written.options).data
    assert torch.equal(again.edge_index, data.edge_index)
    assert torch.equal(again.edge_weight, data.edge_weight)


def test_a_graph_wider_than_a_chunk_is_written_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nodewise.data.writers.arrays._CHUNK", 12)
    graph = read()
    for out, kind in OUTS.items():
        written = nw.write_graph(graph, tmp_path / out, table_format=kind)
        assert_same(graph, nw.read_graph(**written.options))
