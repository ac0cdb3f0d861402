from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from nodewise.data.published.readers import (
    read_gnn_benchmark,
    read_heterophilous,
    read_planetoid,
    undirected,
)
from nodewise.data.published.safe_pickle import loads
from nodewise.errors import RawFileError
from tests.data.raw_files import KNOWN, NODES, TRAIN, dumps, npz_file, planetoid_files


class _Hostile:
    """Unpickled carelessly, it writes a file."""

    def __init__(self, target: Path) -> None:
        self._target = target

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (f"touch {self._target}",)


@pytest.mark.parametrize("protocol", [0, 1, 2, 4])
def test_a_crafted_pickle_raises_and_nothing_runs(tmp_path: Path, protocol: int) -> None:
    hostile = pickle.dumps(_Hostile(tmp_path / "ran"), protocol)
    files = {**planetoid_files(), "ind.mini.graph": hostile}
    with pytest.raises(RawFileError, match=r"nothing of it was run.*system"):
        read_planetoid(files)
    assert not (tmp_path / "ran").exists()
    pickle.loads(hostile)  # it would have, so this test can fail
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "name",
    ["builtins\neval", "__builtin__\ngetattr", "numpy\nload", "numpy.core.multiarray\narange"],
)
def test_names_next_to_the_allowed_ones_are_refused(name: str) -> None:
    with pytest.raises(RawFileError, match="not data"):
        loads("x", f"c{name}\n.".encode())


def test_python_2_pickles_open() -> None:
    matrix = csr_matrix(np.array([[0, 2.5], [1, 0]], np.float32))
    opened = loads("x", dumps(matrix))
    assert opened.dtype == np.float32 and opened.toarray().tolist() == [[0, 2.5], [1, 0]]


def test_planetoid_puts_test_rows_in_their_places() -> None:
    graph = read_planetoid(planetoid_files())
    nodes = np.arange(NODES)
    expected = np.zeros((NODES, 4), np.float32)
    expected[nodes, nodes % 4] = 1 + nodes
    expected[605] = 0
    assert np.array_equal(graph.x.toarray(), expected) and graph.x.dtype == np.float32
    assert np.array_equal(graph.y, np.where(nodes == 605, -1, nodes % 3))


def test_planetoid_row_without_a_label_is_unlabeled() -> None:
    ty = np.eye(3, dtype=np.int32)[[0] * 10]
    ty[4] = 0  # the fourth node of the test index after 610
    graph = read_planetoid({**planetoid_files(), "ind.mini.ty": dumps(ty)})
    assert graph.y[[610, 600, 603, 609]].tolist() == [0, 0, -1, 0]


def test_planetoid_public_split() -> None:
    graph = read_planetoid(planetoid_files())
    assert graph.masks is not None
    train, val, test = (np.flatnonzero(mask[0]).tolist() for mask in graph.masks)
    assert train == list(range(TRAIN)) and val == list(range(TRAIN, TRAIN + 500))
    assert test == [node for node in range(KNOWN, NODES) if node != 605]


def test_planetoid_edges_are_a_path_without_loops() -> None:
    left = np.arange(NODES - 1)
    pairs = [*zip(left, left + 1, strict=True), *zip(left + 1, left, strict=True)]
    expected = np.array(sorted(pairs)).T
    assert np.array_equal(read_planetoid(planetoid_files()).edge_index, expected)


def test_undirected_sorts_and_drops_repeats_and_loops() -> None:
    edges = np.array([[2, 0, 1, 1, 2], [0, 2, 1, 2, 0]], np.int32)
    assert undirected(edges, 3).tolist() == [[0, 1, 2, 2], [2, 2, 0, 1]]
    assert undirected(edges, 3).dtype == np.int64


def gnn_benchmark_arrays() -> dict[str, Any]:
    adjacency = csr_matrix(([1.0] * 4, ([0, 2, 3, 4], [1, 4, 4, 2])), (6, 6), np.float32)
    attributes = csr_matrix(np.arange(12, dtype=np.float32).reshape(6, 2))
    parts = {
        f"{name}_{part}": getattr(matrix, part)
        for name, matrix in (("adj", adjacency), ("attr", attributes))
        for part in ("data", "indices", "indptr", "shape")
    }
    return {"labels": np.array([0, 0, 1, 0, 1, 1]), "class_names": ["a", "b"], **parts}


def test_gnn_benchmark_keeps_the_largest_component() -> None:
    graph = read_gnn_benchmark({"small.npz": npz_file(**gnn_benchmark_arrays())})
    assert graph.edge_index.tolist() == [[0, 1, 2, 2], [2, 2, 0, 1]]
    assert graph.x.toarray().tolist() == [[4, 5], [6, 7], [8, 9]]
    assert graph.y.tolist() == [1, 0, 1] and graph.class_names == ("a", "b")
    assert graph.feature_names is None


def test_gnn_benchmark_reads_the_names_that_are_no_pickle(tmp_path: Path) -> None:
    pickled = np.array([_Hostile(tmp_path / "ran"), "b"], dtype=object)
    arrays = gnn_benchmark_arrays() | {"class_names": pickled, "attr_names": ["red", "big"]}
    files = {"small.npz": npz_file(**arrays)}
    graph = read_gnn_benchmark(files, names=("attr_names",))
    assert graph.feature_names == ("red", "big") and graph.class_names is None
    with pytest.raises(RawFileError, match="allow_pickle"):
        read_gnn_benchmark(files)
    assert not (tmp_path / "ran").exists()


def test_gnn_benchmark_needs_a_name_for_each_feature() -> None:
    files = {"small.npz": npz_file(**gnn_benchmark_arrays(), attr_names=["red"])}
    with pytest.raises(RawFileError, match=r"attr_names: must have shape \(2\)"):
        read_gnn_benchmark(files, names=("attr_names",))


def heterophilous_arrays() -> dict[str, Any]:
    eye = np.eye(3, dtype=bool)
    return {
        "node_features": np.array([[0, 1], [0, 0], [1, 1]], np.float32),
        "node_labels": np.array([0, 1, 0]),
        "edges": np.array([[0, 1], [2, 1]]),
        "train_masks": eye[[0, 1]],
        "val_masks": eye[[1, 2]],
        "test_masks": eye[[2, 0]],
    }


def test_heterophilous_keeps_every_stored_split() -> None:
    graph = read_heterophilous({"small.npz": npz_file(**heterophilous_arrays())})
    assert graph.x.toarray().tolist() == [[0, 1], [0, 0], [1, 1]] and graph.x.nnz == 3
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.masks is not None
    assert [mask.argmax(axis=1).tolist() for mask in graph.masks] == [[0, 1], [1, 2], [2, 0]]


@pytest.mark.parametrize("cut", [0, 10, -10])
def test_a_damaged_npz(cut: int) -> None:
    content = npz_file(**heterophilous_arrays())[:cut]
    with pytest.raises(RawFileError, match="damaged, or not an npz"):
        read_heterophilous({"small.npz": content})


def test_an_npz_without_a_field_or_with_pickled_objects(tmp_path: Path) -> None:
    arrays = heterophilous_arrays()
    edges = arrays.pop("edges")
    with pytest.raises(RawFileError, match="edges"):
        read_heterophilous({"small.npz": npz_file(**arrays)})
    hostile = np.array([_Hostile(tmp_path / "ran"), *edges], dtype=object)
    with pytest.raises(RawFileError, match="allow_pickle"):
        read_heterophilous({"small.npz": npz_file(edges=hostile, **arrays)})
    assert not (tmp_path / "ran").exists()
