"""Training on a graph in files gives what training on the same graph in memory gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from nodewise.bench.planted import PlantedGraph
from nodewise.data.stores.store import GraphStore
from nodewise.errors import InputError
from nodewise.runs.controls import controls_of
from nodewise.runs.run import train_in
from nodewise.runs.saved import load_run
from nodewise.runs.stored_task import StoredIds, store_source, stored_task
from nodewise.runs.task import Task
from nodewise.training.recipe import Recipe, load_recipe


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> GraphStore:
    return PlantedGraph(300, degree=4, width=6, labeled=0.5).write(tmp_path_factory.mktemp("big"))


def recipe(**settings: object) -> Recipe:
    few = {"epochs": 3, "batch_size": 20, "fanout": 3, "features": "unit", **settings}
    return load_recipe("nodewise", "LGCN", None, few)


def in_memory(store: GraphStore) -> Data:
    target = np.repeat(np.arange(store.num_nodes), np.diff(store.csc.colptr))
    edges = np.stack([np.asarray(store.csc.row, np.int64), target])
    x, y = (torch.from_numpy(np.array(a)) for a in (store.x, store.y.astype(np.int64)))
    return Data(x=x, edge_index=torch.from_numpy(edges), y=y, class_names=list(store.classes))


def test_files_and_memory_train_the_same(tmp_path: Path, store: GraphStore) -> None:
    task = stored_task(store_source(store.folder), "LGCN", recipe())
    record = train_in(tmp_path / "files", task, 0)
    data = in_memory(store)
    assert store.split is not None
    other = Task(data, store.split, {"dataset": "same"}, "LGCN", recipe(engine="minibatch"))
    expected = train_in(tmp_path / "memory", other, 0)
    for name in ("history.jsonl", "model.safetensors"):
        assert (tmp_path / "files" / name).read_bytes() == (tmp_path / "memory" / name).read_bytes()
    assert record["test_accuracy"] == expected["test_accuracy"]
    assert record["engine"] == "minibatch" and record["graph_sha256"] == store.sha256
    run = load_run(tmp_path / "files")
    torch.testing.assert_close(run.logits(store), run.logits(data))


def test_the_features_are_not_read_as_a_whole(store: GraphStore) -> None:
    task = stored_task(store_source(store.folder), "LGCN", recipe())
    assert not hasattr(task.graph, "x") and task.data.edge_index is None
    assert task.graph.take(torch.tensor([4, 2])).shape == (2, 6)  # type: ignore[union-attr]


def test_controls_read_the_nodes_of_the_split_or_say_that_they_are_too_many(
    store: GraphStore,
) -> None:
    task = stored_task(store_source(store.folder), "LGCN", recipe())
    found = controls_of(task)
    assert 0 < found["features_only"]["test_accuracy"] <= 1
    small = task.in_memory(10)
    assert small.data.x.shape == (sum(len(nodes) for _, nodes in task.split), 0)
    assert "skipped" in controls_of(small)["features_only"]


def test_names_are_read_when_they_are_asked_for(store: GraphStore) -> None:
    ids = StoredIds(store)
    assert len(ids) == 300 and ids[7] == 7 and ids[5:9:2] == [5, 7]


def test_other_engines_are_refused(store: GraphStore) -> None:
    task = stored_task(store_source(store.folder), "LGCN", recipe(engine="field"))
    with pytest.raises(InputError, match="in files"):
        task.engine()
