from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from nodewise.data.sampling.csc import CscGraph
from nodewise.data.sampling.sampler import NeighborSampler
from nodewise.data.splits.split import Split
from nodewise.data.stores.store import GraphStore
from nodewise.data.stores.writer import StoreWriter
from nodewise.errors import GraphError, InputError

NODES, WIDTH = 10, 3
EDGES = torch.tensor([[2, 0, 1, 2, 9], [1, 0, 1, 1, 7]])
WEIGHT = torch.tensor([0.5, 1.0, 2.0, 3.0, 0.25])
X = np.random.default_rng(0).normal(size=(NODES, WIDTH)).astype(np.float32)
Y = np.array([0, 1, -1, 0, 1, 0, 1, -1, 1, 0])
PART = np.array([1, 1, 0, 2, 2, 3, 3, 0, 0, 0])
NAMES = ["a", "", "cé", "d", "e", "f", "g", "h", "i", "jjj"]


def write(folder: Path, block: int = 4) -> GraphStore:
    """A small store, written in blocks."""
    csc = CscGraph.from_edges(EDGES, NODES, WEIGHT)
    assert csc.edge_weight is not None
    options = {"ids": "texts", "weighted": True, "split": True}
    with StoreWriter(folder, NODES, "pqr", ("no", "yes"), **options) as writer:  # type: ignore[arg-type]
        for start in range(0, NODES, block):
            nodes = slice(start, min(start + block, NODES))
            edges = slice(csc.colptr[nodes.start], csc.colptr[nodes.stop])
            writer.add_nodes(X[nodes], Y[nodes], PART[nodes], NAMES[nodes])
            degrees = csc.degrees(np.arange(nodes.start, nodes.stop))
            writer.add_edges(degrees, csc.row[edges], csc.edge_weight[edges])
        return writer.finish({"made_of": "numbers"})


def test_a_store_gives_back_what_was_written(tmp_path: Path) -> None:
    store = write(tmp_path / "s")
    csc = CscGraph.from_edges(EDGES, NODES, WEIGHT)
    np.testing.assert_array_equal(store.x, X)
    np.testing.assert_array_equal(store.y, Y)
    np.testing.assert_array_equal(store.csc.colptr, csc.colptr)
    np.testing.assert_array_equal(store.csc.row, csc.row)
    assert store.csc.edge_weight is not None and csc.edge_weight is not None
    np.testing.assert_array_equal(store.csc.edge_weight, csc.edge_weight)
    assert store.split == Split([0, 1], [3, 4], [5, 6])
    assert (store.num_nodes, store.num_edges, store.num_features) == (NODES, 5, WIDTH)
    assert store.classes == ("no", "yes") and store.feature_names == ("p", "q", "r")
    assert store.meta["made_of"] == "numbers" and not store.directed
    assert store.ids() == NAMES and store.ids(2, 4) == NAMES[2:4] and store.ids(9) == NAMES[9:]


def test_rows_of_some_nodes_are_taken(tmp_path: Path) -> None:
    store = write(tmp_path / "s")
    for nodes in ([7, 0, 7], [], np.array([3], np.int32), torch.tensor([9])):
        taken = store.take(nodes)
        assert taken.dtype == torch.float32
        np.testing.assert_array_equal(taken.numpy(), X[np.asarray(nodes, np.int64)])
    with pytest.raises(InputError, match=r"n_id\[1\]"):
        store.take([0, NODES])


def test_neighbors_are_sampled_from_a_store(tmp_path: Path) -> None:
    store = write(tmp_path / "s")
    batch = NeighborSampler(store.csc, [-1]).sample(np.array([1]))
    assert batch.n_id.tolist() == [1, 2]
    np.testing.assert_array_equal(store.csc.row[batch.e_id], [2, 1, 2])


def test_nodes_without_names_are_called_by_their_numbers(tmp_path: Path) -> None:
    with StoreWriter(tmp_path, 3, "p") as writer:
        writer.add_nodes(np.ones((3, 1)))
        writer.add_edges([0, 0, 0], [])
        store = writer.finish()
    assert store.ids(1) == [1, 2] and store.y.tolist() == [-1, -1, -1] and store.split is None
    assert store.num_edges == 0


def test_a_folder_that_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="is not a store"):
        GraphStore.open(tmp_path)


@pytest.mark.parametrize(
    ("file", "entry", "value", "message"),
    [
        ("row", 3, NODES, r"row\[3\]: must be at least 0 and below 10"),
        ("row", 0, -1, r"row\[0\]: must be at least 0"),
        ("colptr", 4, 9, r"colptr\[5\]: must never decrease"),
        ("y", 2, 2, r"y\[2\]: must be at least -1 and below 2"),
        ("part", 5, 4, r"part\[5\]: must be at least 0 and below 4"),
    ],
)
def test_numbers_out_of_range_are_refused(
    tmp_path: Path, file: str, entry: int, value: int, message: str
) -> None:
    write(tmp_path)
    array = np.load(tmp_path / f"{file}.npy")
    array[entry] = value
    np.save(tmp_path / f"{file}.npy", array)
    with pytest.raises(GraphError, match=message):
        GraphStore.open(tmp_path)


@pytest.mark.parametrize("file", ["x", "colptr", "row", "edge_weight", "y", "part"])
def test_truncated_files_are_refused(tmp_path: Path, file: str) -> None:
    write(tmp_path)
    path = tmp_path / f"{file}.npy"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(GraphError, match="is damaged"):
        GraphStore.open(tmp_path)
    path.unlink()
    with pytest.raises(GraphError, match="is damaged"):
        GraphStore.open(tmp_path)


@pytest.mark.parametrize("size", [b"-1", b"(0", b"9" * 19, b"9" * 30])
def test_headers_of_impossible_sizes_are_refused(tmp_path: Path, size: bytes) -> None:
    write(tmp_path)
    path = tmp_path / "x.npy"
    start, end = path.read_bytes().split(b"(10, 3")
    end = end.replace(b" " * (len(size) - 2), b"", 1)  # of the header's padding
    path.write_bytes(start + b"(" + size + b", 3" + end)
    with pytest.raises(GraphError, match="is damaged"):
        GraphStore.open(tmp_path)


def test_a_damaged_meta_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / "store.json"
    content = json.loads(path.read_text())
    for damage in ("{", "[]", json.dumps({**content, "edges": "5"}), json.dumps({"format": "x"})):
        path.write_text(damage)
        with pytest.raises(GraphError, match="cannot be read"):
            GraphStore.open(tmp_path)
