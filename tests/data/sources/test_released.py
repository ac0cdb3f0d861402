"""The files of the released program."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import nodewise as nw
from nodewise.errors import TableError

NODES = "4\t2\n0\t1\t0.5\t0\n1\t0\t0.5\t3\n2\t-1\t0\t1\n3\t1\t1\t1\n4\t0\t0\t0\n"
EDGES = "0\t1\n1\t0\n2\t2\n3\t0\n"


def test_nodes_labels_features_and_edges(tmp_path: Path) -> None:
    (tmp_path / "graph.node").write_text(NODES)
    (tmp_path / "graph.edge").write_text(EDGES)
    graph = nw.read_graph(tmp_path / "graph.node")
    assert graph.ids == ("0", "1", "2", "3", "4")
    assert graph.data.x.tolist() == [[0.5, 0], [0.5, 3], [0, 1], [1, 1], [0, 0]]
    assert graph.data.y.tolist() == [1, 0, -1, 1, 0] and graph.data.class_names == ["0", "1"]
    assert graph.data.edge_index.tolist() == [[0, 0, 1, 3], [1, 3, 0, 0]]


def test_edges_may_lie_elsewhere_and_be_packed(tmp_path: Path) -> None:
    (tmp_path / "a.node.gz").write_bytes(gzip.compress(NODES.encode()))
    (tmp_path / "a.edge.gz").write_bytes(gzip.compress(EDGES.encode()))
    (tmp_path / "b.edge").write_text("0\t4\n")
    assert nw.read_graph(tmp_path / "a.node.gz").summary.edges == 2
    assert nw.read_graph(tmp_path / "a.node.gz", tmp_path / "b.edge").summary.edges == 1


def test_the_file_of_edges_is_named_if_it_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "graph.node").write_text(NODES)
    with pytest.raises(TableError, match=r"graph\.edge: there is no such file"):
        nw.read_graph(tmp_path / "graph.node")
