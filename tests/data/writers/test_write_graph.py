"""What is written is read back as the same graph."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

import nodewise as nw
from nodewise.data.graph import GraphTable
from nodewise.data.writers.tables import FORMATS
from nodewise.errors import InputError, NodewiseError, TableError

OUTS = {**{f"tables/{name}": name for name in FORMATS}, "graph.npz": "csv"}
MASKS = ("train_mask", "val_mask", "test_mask")


def tables(text_ids: bool = True) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Nine nodes, one alone and one without label, and edges of different weight."""
    ids: list[Any] = [f"n, {i}" if text_ids else 10 * i for i in range(9)]
    nodes = pd.DataFrame(
        {
            "id": ids,
            "topic": ["b", "a", "b\tc", "a", "b", "b\tc", "a", "b", None],
            "age": [0.1, -2.5, 1e-20, 3, 1 / 3, 5, 1e20, 7, 8],
            "kind": ["red", "blue", 'a "red" one'] * 3,
            "split": ["train", "train", "train", "val", "val", None, "test", "test", None],
        }
    )
    ends = [(0, 1), (1, 2), (3, 2), (4, 5), (5, 0), (6, 7), (2, 1)]
    edges = pd.DataFrame([(ids[u], ids[v]) for u, v in ends], columns=["source", "target"])
    return nodes, edges.assign(strength=np.arange(7) / 7 + 0.5)


def read(text_ids: bool = True, **options: Any) -> GraphTable:
    nodes, edges = tables(text_ids)
    chosen = {"label": "topic", "split": "split", "scale": False, **options}
    return nw.read_graph(nodes, edges, **chosen)


def labels(graph: GraphTable) -> list[str | None]:
    names = graph.data.class_names
    return [names[k] if k >= 0 else None for k in graph.data.y.tolist()]


def assert_same(one: GraphTable, other: GraphTable) -> None:
    assert list(map(str, one.ids)) == list(map(str, other.ids))
    x, again = (g.data.x.to_dense() for g in (one, other))
    assert x.dtype == again.dtype == torch.float32 and torch.equal(x, again)
    assert one.data.feature_names == other.data.feature_names
    assert labels(one) == labels(other)
    assert torch.equal(one.data.edge_index, other.data.edge_index)
    for name in ("edge_weight", *MASKS):
        assert (name in one.data) == (name in other.data), name
        if name in one.data:
            assert torch.equal(one.data[name], other.data[name]), name


@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize("directed", [False, True])
def test_everything_comes_back(tmp_path: Path, out: str, directed: bool) -> None:
    graph = read(weight="strength", directed=directed)
    written = nw.write_graph(graph, tmp_path / out, table_format=OUTS[out])
    assert all(path.is_file() for path in written.files) and not written.notes
    assert_same(graph, nw.read_graph(**written.options))
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("out", OUTS)
def test_numbers_for_ids_no_split_no_weights(tmp_path: Path, out: str) -> None:
    nodes, edges = tables(text_ids=False)
    graph = nw.read_graph(nodes.drop(columns="split"), edges, label="topic", scale=False)
    written = nw.write_graph(graph, tmp_path / out, table_format=OUTS[out])
    assert_same(graph, nw.read_graph(**written.options))


@pytest.mark.parametrize("out", OUTS)
def test_sparse_features_and_no_labels(tmp_path: Path, out: str) -> None:
    nodes, edges = tables()
    bare = nodes.drop(columns=["topic", "split"])
    graph = nw.read_graph(bare, edges, text="kind", sparse=True, scale=False)
    written = nw.write_graph(graph, tmp_path / out, table_format=OUTS[out])
    again = nw.read_graph(**written.options, sparse=True)
    assert again.data.x.layout == torch.sparse_csr
    assert_same(graph, again)


@pytest.mark.parametrize("name", ["graph.node", "graph.node.gz"])
@pytest.mark.parametrize("directed", [False, True])
def test_the_files_of_the_released_program(tmp_path: Path, name: str, directed: bool) -> None:
    graph = read(text_ids=False, directed=directed)
    written = nw.write_graph(graph, tmp_path / name)
    assert [path.name for path in written.files] == [name, name.replace("node", "edge")]
    again = nw.read_graph(**written.options)
    assert torch.equal(again.data.x, graph.data.x) and torch.equal(again.data.y, graph.data.y)
    assert torch.equal(again.data.edge_index, graph.data.edge_index)
    assert list(again.ids) == list(map(str, graph.ids))
    notes = "; ".join(written.notes)
    assert "0 a, 1 b" in notes and "the split is left out" in notes


def test_names_become_numbers_there_and_weights_are_left_out(tmp_path: Path) -> None:
    written = nw.write_graph(read(weight="strength"), tmp_path / "graph.node")
    notes = "; ".join(written.notes)
    assert "numbered from 0" in notes and "weights of edges are left out" in notes
    assert nw.read_graph(**written.options).ids == tuple(map(str, range(9)))


def test_the_released_format_is_the_released_format(tmp_path: Path) -> None:
    data = Data(torch.tensor([[0.5, 0.0], [1.0, 2.0]]), torch.tensor([[0, 1], [1, 0]]))
    nw.write_graph(data, tmp_path / "graph.node")
    assert (tmp_path / "graph.node").read_text() == "2\t2\n0\t-1\t0.5\t0\n1\t-1\t1\t2\n"
    assert (tmp_path / "graph.edge").read_text() == "0\t1\n"


def test_the_same_graph_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        nw.write_graph(read(), tmp_path / name, table_format="csv.gz")
    one, two = ((tmp_path / name / "nodes.csv.gz").read_bytes() for name in ("one", "two"))
    assert one == two and one[4:8] == bytes(4)  # where gzip keeps the time
    assert gzip.decompress(one).startswith(b'"id","label","split"')


@pytest.mark.parametrize("out", ["folder", "graph.npz", "graph.node"])
def test_nothing_is_overwritten_without_force(tmp_path: Path, out: str) -> None:
    written = nw.write_graph(read(), tmp_path / out)
    before = [path.read_bytes() for path in written.files]
    smaller = Data(torch.eye(4), torch.tensor([[0], [1]]), y=torch.tensor([0, 0, 1, 1]))
    with pytest.raises(InputError, match="is there already; use --force"):
        nw.write_graph(smaller, tmp_path / out)
    assert [path.read_bytes() for path in written.files] == before
    again = nw.write_graph(smaller, tmp_path / out, force=True)
    assert nw.read_graph(**again.options).summary.nodes == 4


@pytest.mark.parametrize(
    ("out", "options", "says"),
    [
        ("nodes.csv", {}, "tables are two"),
        ("out", {"table_format": "xlsx"}, "known are csv"),
        ("file/out", {}, "cannot be written"),
        ("folder.npz", {"force": True}, "is a folder"),
    ],
)
def test_what_cannot_be_written_is_one_line(
    tmp_path: Path, out: str, options: dict[str, Any], says: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(NodewiseError, match=says) as caught:
        nw.write_graph(read(), tmp_path / out, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"node_ids": ["a", "a", "b"]}, "3 different names"),
        ({"node_ids": ["a", "b"]}, "3 different names"),
        ({"edge_weight": [1.0]}, "for each of 2 edges"),
        ({"edge_weight": [1.0, -1.0]}, "0 or more"),
        ({}, "no usable weights"),
    ],
)
def test_an_npz_with_wrong_ids_or_weights(
    tmp_path: Path, arrays: dict[str, Any], says: str
) -> None:
    path = tmp_path / "graph.npz"
    np.savez(path, x=np.eye(3, dtype=np.float32), edges=np.array([[0, 1], [1, 2]]), **arrays)
    with pytest.raises(TableError, match=says):
        nw.read_graph(path, weight=None if "node_ids" in arrays else "edge_weight")


@pytest.mark.medium
@pytest.mark.parametrize("name", ["cora", "chameleon"])
def test_a_data_set_comes_back(tmp_path: Path, data_root: Path, name: str) -> None:
    data = nw.load_dataset(name, data_root)
    for out in ("tables", "graph.npz"):
        written = nw.write_graph(data, tmp_path / out)
        again = nw.read_graph(**written.options, sparse=False).data
        assert torch.equal(again.x, data.x) and torch.equal(again.edge_index, data.edge_index)
        assert all(torch.equal(again[mask], data[mask]) for mask in MASKS)
        classes = data.get("class_names") or [str(k) for k in range(int(data.y.max()) + 1)]
        assert [again.class_names[k] for k in again.y] == [classes[k] for k in data.y]
