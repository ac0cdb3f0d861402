"""Graphs in npz files, of both kinds that are published."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

import nodewise as nw
from nodewise.data.checks import check_data
from nodewise.data.sources import npz_members
from nodewise.errors import TableError

X = np.array([[1, 0, 2], [0, 0, 3], [4, 0, 0], [0, 5, 0]], np.float32)
PAIRS = np.array([[0, 1], [1, 0], [2, 3]])


def csr(prefix: str, matrix: Any) -> dict[str, Any]:
    parts = csr_matrix(matrix)
    return {f"{prefix}_{name}": getattr(parts, name) for name in ("data", "indices", "indptr")} | {
        f"{prefix}_shape": parts.shape
    }


def read(folder: Path, **arrays: Any) -> nw.GraphTable:
    np.savez(folder / "graph.npz", **arrays)
    return nw.read_graph(folder / "graph.npz")


def test_sparse_parts_with_names(tmp_path: Path) -> None:
    adjacency = np.zeros((4, 4))
    adjacency[tuple(PAIRS.T)] = 1
    names = {"class_names": ["dog", "cat"], "attr_names": ["red", "big", "old"]}
    parts = csr("adj", adjacency) | csr("attr", X) | names
    graph = read(tmp_path, **parts, labels=[1, 0, -1, 1])
    assert graph.data.x.tolist() == X.tolist() and graph.data.y.tolist() == [1, 0, -1, 1]
    assert graph.data.class_names == ["dog", "cat"]
    assert graph.data.feature_names == ["red", "big", "old"]
    assert graph.data.edge_index.tolist() == [[0, 1, 2, 3], [1, 0, 3, 2]]
    assert graph.summary.dropped == {"edges listed in both directions": 1}


def test_plain_arrays_with_masks(tmp_path: Path) -> None:
    train = np.array([[True, False, False, False], [False] * 4])
    masks = {"train_masks": train, "val_masks": train[:, [1, 0, 2, 3]], "test_masks": train[1:]}
    graph = read(tmp_path, node_features=X, edges=PAIRS, node_labels=[7, 7, 3, 7], **masks)
    assert graph.data.class_names == ["3", "7"] and graph.data.y.tolist() == [1, 1, 0, 1]
    assert graph.data.train_mask.tolist() == [True, False, False, False]
    check_data(graph.data)


def test_an_array_of_objects_is_not_unpickled(tmp_path: Path) -> None:
    names = np.array(["a", "b", "c"], dtype=object)
    graph = read(tmp_path, x=X, edge_index=PAIRS.T, attr_names=names)
    assert graph.data.feature_names == ["feature_0", "feature_1", "feature_2"]


def test_a_later_file_must_have_as_many_features(tmp_path: Path) -> None:
    fitted = read(tmp_path, x=X, edges=PAIRS, y=[0, 1, 0, 1]).preprocessing
    again = nw.read_graph(tmp_path / "graph.npz", preprocessing=fitted)
    assert torch.equal(again.data.x, torch.from_numpy(X))
    np.savez(tmp_path / "graph.npz", x=X[:, :2], edges=PAIRS)
    with pytest.raises(TableError, match=r"fitted to 3 features \(found 2\)"):
        nw.read_graph(tmp_path / "graph.npz", preprocessing=fitted)


def test_weights_are_reported_whether_used_or_not(tmp_path: Path) -> None:
    weights = np.array([0.5, 0.5, 2.0])
    graph = read(tmp_path, x=X, edges=PAIRS, edge_weight=weights)
    assert graph.summary.notes == ("edge_weight of edges not used; --weight edge_weight uses it",)
    used = nw.read_graph(tmp_path / "graph.npz", weight="edge_weight")
    assert used.summary.notes == ("columns read: weight 'edge_weight'",)
    assert read(tmp_path, x=X, edges=PAIRS, edge_weight=np.ones(3)).summary.notes == ()


def test_an_adjacency_that_has_weights_says_so(tmp_path: Path) -> None:
    adjacency = np.zeros((4, 4))
    adjacency[tuple(PAIRS.T)] = [0.5, 0.5, 2.0]
    graph = read(tmp_path, x=X, **csr("adj", adjacency))
    assert "--weight adj_data uses it" in str(graph.summary)
    used = nw.read_graph(tmp_path / "graph.npz", weight="adj_data")
    assert used.data.edge_weight.tolist() == [0.5, 0.5, 2.0, 2.0]


def test_a_csr_matrix_that_is_none(tmp_path: Path) -> None:
    broken = csr("attr", X) | {"attr_indptr": [0, 9, 9, 9, 9]}
    with pytest.raises(TableError, match=r"attr_indptr\[4\]: must end with 5.*found 9"):
        read(tmp_path, **broken, edges=PAIRS)


def test_chameleon_is_what_the_data_set_is(data_root: Path) -> None:
    graph = nw.read_graph(data_root / "wikipedia" / "chameleon.npz", sparse=False)
    expected = nw.load_dataset("chameleon", data_root, split="public")
    assert torch.equal(graph.data.x, expected.x) and torch.equal(graph.data.y, expected.y)
    assert torch.equal(graph.data.edge_index, expected.edge_index)
    assert torch.equal(graph.data.train_mask, expected.train_mask)


def test_amazon_keeps_all_its_nodes(data_root: Path) -> None:
    graph = nw.read_graph(data_root / "amazon" / "amazon_electronics_computers.npz")
    assert graph.summary.nodes == 13_752 and graph.summary.num_features == 767
    assert len(graph.summary.labels) == 10 and graph.summary.isolated == 281


def test_an_array_that_is_not_needed_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[int] = []
    load = npz_members.npy.read_array

    def noting(stream: Any, **options: Any) -> Any:
        array = load(stream, **options)
        loaded.append(array.size)
        return array

    monkeypatch.setattr(npz_members.npy, "read_array", noting)
    arrays = {"x": np.eye(4), "edge_index": np.array([[0, 1], [2, 3]]), "y": np.array([0, 1, 0, 1])}
    graph = read(tmp_path, **arrays, huge=np.zeros(100_000))
    assert graph.data.num_nodes == 4
    assert sorted(loaded) == [4, 4, 16]


def test_an_array_that_claims_to_be_larger_than_its_data_is_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)}
    npz_members.npy.write_array_header_1_0(stream, header)
    with ZipFile(tmp_path / "g.npz", "w") as archive:
        archive.writestr("x.npy", stream.getvalue())
    with pytest.raises(TableError, match="is not an array of float64"):
        nw.read_graph(tmp_path / "g.npz")


@pytest.mark.parametrize("name", ["x", "edge_index", "y", "train_mask", "directed", "node_ids"])
@pytest.mark.parametrize("array", [np.array(3), np.zeros(0), np.zeros((0, 0)), np.array("a")])
def test_arrays_without_axes_or_entries_are_refused_or_read_whole(
    tmp_path: Path, name: str, array: Any
) -> None:
    arrays = {"x": np.eye(4), "edge_index": np.array([[0, 1], [2, 3]]), "y": np.array([0, 1, 0, 1])}
    try:
        graph = read(tmp_path, **{**arrays, name: array})
    except TableError as error:
        assert "graph.npz" in str(error)
    else:
        assert name not in ("x", "y") and graph.data.num_nodes == 4
        check_data(graph.data)
