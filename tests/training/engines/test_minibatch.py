"""Mini-batches: equal to the full graph with all neighbors, to each other on any number of threads
and processes, and to themselves after a break."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from nodewise.data.sampling.batches import BatchLoader
from nodewise.data.sampling.sampler import NeighborSampler
from nodewise.errors import InputError
from nodewise.runs.run import Callbacks, train_in
from nodewise.runs.task import Task
from nodewise.training.engines.base import Loss
from nodewise.training.engines.batch_graph import MemoryGraph
from nodewise.training.engines.field import FieldEngine
from nodewise.training.engines.minibatch import MinibatchEngine
from nodewise.training.engines.resources import Resources
from nodewise.training.processes import Processes
from tests.training.tasks import small_task, weighted_task

ALL: dict[str, Any] = {"engine": "minibatch", "fanout": "-1", "batch_size": 1000}
FEW: dict[str, Any] = {"engine": "minibatch", "fanout": "3", "batch_size": 6}
STILL = {"input_dropout": 0.0, "weight_dropout": 0.0, "message_dropout": 0.0}
MODELS = ["LGCN", "LGAT", "LGIN", "LSAGE"]


def still(model: str, recipe: str = "nodewise", **settings: Any) -> Task:
    return small_task(model, recipe, attention_dropout=0.0, **STILL, **settings)


def engines(task: Task, **batching: Any) -> tuple[FieldEngine, MinibatchEngine]:
    """Receptive fields and mini-batches, with one model."""
    torch.manual_seed(0)
    field = task.engine()
    sampled = task.recipe.batching.__class__(**batching)
    other = replace(task, recipe=replace(task.recipe, batching=sampled)).engine()
    assert isinstance(field, FieldEngine) and isinstance(other, MinibatchEngine)
    for tensor in field.model.parameters():
        tensor.data += 0.05 * torch.rand_like(tensor)  # some generators begin at zero
    other.model.load_state_dict(field.model.state_dict())
    return field, other


def assert_same_loss(ours: Loss, expected: Loss) -> None:
    for name, term in expected._asdict().items():
        torch.testing.assert_close(
            getattr(ours, name).float(), term, rtol=1e-5, atol=1e-7, msg=name
        )


@pytest.mark.parametrize("model", [*MODELS, "SAGE", "GCN", "MLP", "GCN-FiLM"])
def test_one_batch_with_all_neighbors_is_the_full_graph(model: str) -> None:
    for settings in ({}, {"class_weight": "balanced"}, {"loss_reduction": "sum"}):
        field, batches = engines(still(model, **settings), **ALL)
        assert_same_loss(batches.validate().loss, field.validate().loss)
        for _ in range(3):
            assert_same_loss(batches.step(), field.step())
        for one, other in zip(batches.model.parameters(), field.model.parameters(), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=2e-5)
        torch.testing.assert_close(batches.logits(), field.logits(), rtol=1e-3, atol=1e-4)


def test_validation_with_all_neighbors_is_exact_in_batches_of_any_size() -> None:
    field, batches = engines(still("LGCN"), **{**ALL, "batch_size": 7})
    ours, expected = batches.validate(), field.validate()
    assert_same_loss(ours.loss, expected.loss)
    torch.testing.assert_close(ours.logits, expected.logits)
    assert ours.accuracy == expected.accuracy and torch.equal(ours.y, expected.y)


def test_training_sees_the_weights_of_edges() -> None:
    task = weighted_task("LGCN")
    task = replace(task, recipe=replace(still("LGCN").recipe))
    field, batches = engines(task, **ALL)
    assert_same_loss(batches.step(), field.step())


class _Part(Processes):
    """A process whose sums over all processes are added by the test."""

    def sum(self, values: Tensor) -> Tensor:
        return values

    def largest(self, number: int) -> int:
        return number


def gradients(task: Task, processes: Processes) -> list[Tensor]:
    """The gradients of the first batch that a process finds."""
    engine = replace(task, resources=Resources(processes=processes, workers=0)).engine()
    assert isinstance(engine, MinibatchEngine)
    engine.model.train()
    batch = next(engine._batches("train", 0))
    loss, _ = engine._loss(batch, "train", 1 / batch.whole_size)
    return list(torch.autograd.grad(loss.total, list(engine.model.parameters())))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("count", [2, 3])
def test_the_parts_of_a_batch_add_up_to_it(model: str, count: int) -> None:
    task = still(model, **{**FEW, "batch_size": 10})
    found = []
    for processes in (Processes(), *(_Part(rank, count) for rank in range(count))):
        torch.manual_seed(0)
        found.append(gradients(task, processes))
    for whole, *parts in zip(*found, strict=True):
        torch.testing.assert_close(torch.stack(parts).sum(0), whole, rtol=1e-4, atol=1e-6)


def test_the_number_of_sampling_threads_changes_nothing(tmp_path: Path) -> None:
    found = set()
    for workers in (0, 1, 3):
        task = replace(small_task(**FEW), resources=Resources(workers=workers))
        found.add(train_in(tmp_path / str(workers), task, 0)["logits_sha256"])
    assert len(found) == 1
    assert train_in(tmp_path / "other", small_task(**FEW), 1)["logits_sha256"] not in found


@pytest.mark.parametrize("model", ["LGCN", "LSAGE"])
@pytest.mark.parametrize("cut", [1, 5])
def test_continued_training_is_the_same_training(tmp_path: Path, model: str, cut: int) -> None:
    """Law 6, sampling threads included."""
    task = replace(small_task(model, **FEW), resources=Resources(workers=2))
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    expected = train_in(whole, task, 0)
    seen: list[int] = []
    stopping = Callbacks(lambda line: seen.append(line["epoch"]), lambda: len(seen) == cut)
    assert train_in(parts, task, 0, stopping)["interrupted"]
    record = train_in(parts, task, 0)
    assert record["logits_sha256"] == expected["logits_sha256"]
    assert record["engine"] == "minibatch" and record["settings"]["fanout"] == "3"
    for name in ("history.jsonl", "model.safetensors"):
        assert (parts / name).read_bytes() == (whole / name).read_bytes(), name


def test_batches_shrink_towards_the_seeds() -> None:
    engine = small_task(**FEW).engine()
    assert isinstance(engine, MinibatchEngine)
    batch = next(engine._batches("train", 0))
    first, last = batch.field.blocks
    assert len(batch.y) == last.neighbors.num_targets == 5
    assert last.neighbors.num_sources == first.neighbors.num_targets
    assert first.neighbors.num_sources == len(batch.field.nodes) == batch.x.size(0)  # type: ignore[union-attr]
    assert first.neighbors.num_targets < first.neighbors.num_sources


def pyg_batches(task: Task, seed: int) -> list[Data]:
    """Batches in the form of PyG's NeighborLoader, which needs a compiled package."""
    graph = MemoryGraph(task.graph).csc
    loader = BatchLoader(NeighborSampler(graph, [3, 3], seed), task.split.train, 6, True, 0)
    batches = []
    for batch in loader:
        order = torch.randperm(len(batch.row))
        sizes = {"num_sampled_nodes": batch.num_sampled_nodes, "batch_size": batch.batch_size}
        index = {"n_id": torch.from_numpy(batch.n_id), "edge_index": batch.edge_index[:, order]}
        batches.append(Data(**sizes, **index))
    return batches


def test_batches_of_a_pyg_loader_are_trained_on() -> None:
    task = still("LGCN", **FEW)
    torch.manual_seed(0)
    ours = task.engine()
    assert isinstance(ours, MinibatchEngine)
    expected = ours.step()
    batches = pyg_batches(task, ours._parts["train"].loader.sampler.seed)
    torch.manual_seed(0)
    given = replace(task, resources=Resources(loader=batches)).engine()
    found = given.step()
    torch.testing.assert_close(found.total, expected.total)
    for one, other in zip(given.model.parameters(), ours.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_batches_of_another_shape_are_refused() -> None:
    task = still("LGCN", **FEW)
    batch = pyg_batches(task, 0)[0]
    backwards = batch.clone()
    backwards.edge_index = backwards.edge_index.flip(0)
    short = batch.clone()
    short.num_sampled_nodes = batch.num_sampled_nodes[:2]
    bare = Data(edge_index=batch.edge_index)
    for loader, problem in (
        ([backwards], "last hop"),
        ([short], "1 hops"),
        ([bare], "without n_id"),
    ):
        with pytest.raises(InputError, match=problem):
            replace(task, resources=Resources(loader=loader)).engine().step()


@pytest.mark.parametrize(
    ("model", "settings", "problem"),
    [
        ("LSAGE", {"hops": 2}, "hops"),
        ("GCN", {"consistency": 1.0}, "consistency"),
        ("LGCN", {"max_neighbors": 4}, "max_neighbors"),
        ("LGCN", {"fanout": "3,3,3"}, "fanout"),
        ("PyG-GCN-64", {}, "engine"),
        ("Boosting", {}, "engine"),
    ],
)
def test_what_mini_batches_cannot_do_is_refused(
    model: str, settings: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        small_task(model, "nodewise", **{**FEW, **settings}).engine()


def test_several_processes_share_mini_batches_only() -> None:
    several = Resources(processes=_Part(1, 2))
    assert isinstance(replace(small_task(), resources=several).engine(), MinibatchEngine)
    for settings in ({"engine": "field"}, {"engine": "full"}):
        with pytest.raises(InputError, match="--engine minibatch"):
            replace(small_task(**settings), resources=several).engine()
    with pytest.raises(InputError, match="batch_norm"):
        replace(small_task("GCN", "nodewise", batch_norm=True), resources=several).engine()


def test_the_seeds_of_a_batch_are_shared_without_repeats() -> None:
    parts = []
    for rank in range(3):
        torch.manual_seed(0)
        resources = Resources(processes=_Part(rank, 3), workers=0)
        engine = replace(small_task(**FEW), resources=resources).engine()
        assert isinstance(engine, MinibatchEngine)
        parts.append([batch.places.tolist() for batch in engine._batches("train", 0)])
    assert [len({*batch}) for batch in parts[0]] == [2, 2, 2]
    found = [place for part in parts for batch in part for place in batch]
    assert sorted(found) == [*range(len(small_task().split.train))]
    assert np.ndim(found) == 1
