"""A store is read as the tables that it was made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import nodewise as nw
from nodewise.data.stores.store import GraphStore
from nodewise.data.writers.store import write_store
from nodewise.errors import GraphError, InputError
from tests.cli.test_user_tables import write_karate

KARATE = {"nodes": "nodes.csv", "edges": "edges.csv", "label": "club"}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_karate(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_same(graph: Any, again: Any) -> None:
    assert graph.ids == again.ids and graph.preprocessing == again.preprocessing
    assert str(graph.summary) == str(again.summary) and graph.sha256 == again.sha256
    assert set(graph.data.keys()) == set(again.data.keys())
    for name, value in graph.data:
        other = again.data[name]
        assert torch.equal(value, other) if isinstance(value, torch.Tensor) else value == other


@pytest.mark.parametrize("more", [{}, {"weight": "w"}, {"directed": True, "weight": "w"}])
def test_a_store_is_read_as_its_tables(more: dict[str, Any]) -> None:
    graph = nw.read_graph(**KARATE, **more)
    write_store(graph, Path("store"))
    assert_same(graph, nw.read_graph("store"))


def test_splits_and_sparse_features_are_kept() -> None:
    nodes = Path("nodes.csv").read_text().splitlines()
    split = ["split", *(["", "train", "val", "", "test", "train"] * len(nodes))]
    rows = (f"{a},{b}" for a, b in zip(nodes, split, strict=False))
    Path("nodes.csv").write_text("\n".join(rows))
    graph = nw.read_graph(**{**KARATE, "unlabeled": "unknown"}, sparse=True)
    write_store(graph, Path("store"))
    again = nw.read_graph("store", sparse=True)
    assert again.data.x.layout == torch.sparse_csr and "val_mask" in again.data
    assert torch.equal(again.data.val_mask, graph.data.val_mask)
    assert torch.equal(again.data.x.to_dense(), graph.data.x.to_dense())


def test_ids_that_are_integers_or_numbers_of_nodes_stay_so() -> None:
    data = nw.load_dataset("toy")
    graph = nw.read_graph(data)
    store = write_store(graph, Path("store"))
    assert store.meta["ids"] == "numbers" and nw.read_graph("store").ids == graph.ids


def test_classes_are_matched_by_name_with_those_of_training() -> None:
    trained = nw.read_graph(**KARATE)
    fitted = trained.preprocessing
    write_store(trained, Path("store"))
    meta = json.loads(Path("store/store.json").read_text())
    meta["classes"] = ["Officer", "stranger"]
    Path("store/store.json").write_text(json.dumps(meta))
    again = nw.read_graph("store", preprocessing=fitted).data.y
    store = GraphStore.open("store")
    number = fitted.class_names.index("Officer")
    expected = np.where(store.y == 0, number, -1)
    assert again.tolist() == expected.tolist()


def test_features_of_other_scales_are_refused() -> None:
    write_store(nw.read_graph(**KARATE), Path("store"))
    other = nw.read_graph(**KARATE, scale=False).preprocessing
    with pytest.raises(InputError, match="other scales"):
        nw.read_graph("store", preprocessing=other)


def test_options_about_tables_and_edges_beside_are_refused() -> None:
    write_store(nw.read_graph(**KARATE), Path("store"))
    with pytest.raises(InputError, match="label: is about tables"):
        nw.read_graph("store", label="club")
    with pytest.raises(InputError, match="edges: are given beside a store"):
        nw.read_graph("store", "edges.csv")


def test_a_store_that_was_not_completed_is_refused() -> None:
    write_store(nw.read_graph(**KARATE), Path("store"))
    Path("store/store.json").unlink()
    with pytest.raises(GraphError, match="was not completed"):
        nw.read_graph("store")
