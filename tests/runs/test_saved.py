from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from nodewise.data.fingerprints import logits_sha256
from nodewise.errors import GraphError, RunError, RunWarning
from nodewise.runs.folder import RunFolder
from nodewise.runs.run import Callbacks, train_in
from nodewise.runs.saved import best_run, load_run
from nodewise.runs.seeds import train_seeds
from nodewise.runs.task import Task
from tests.runs.earlier import as_of_earlier_release
from tests.training.tasks import small_graph, small_task


@pytest.fixture
def run(tmp_path: Path) -> Path:
    train_in(tmp_path / "run", small_task(), 0)
    return tmp_path / "run"


@pytest.mark.parametrize("model", ["LGCN", "LGAT", "LGIN:edge", "GCN-64"])
def test_a_loaded_model_has_the_logits_of_training_bit_for_bit(tmp_path: Path, model: str) -> None:
    record = train_in(tmp_path, small_task(model), 0)
    saved = load_run(tmp_path)
    assert logits_sha256(saved.logits(small_graph())) == record["logits_sha256"]
    assert [line["epoch"] for line in RunFolder(tmp_path).history] == list(range(12))


def test_a_bigger_graph_is_welcome_and_other_features_are_not(run: Path) -> None:
    data = small_graph()
    bigger = data.clone()
    bigger.x = torch.cat([data.x, data.x[:5]])
    assert load_run(run).logits(bigger).shape == (65, 3)
    bigger.x = bigger.x[:, :6]
    with pytest.raises(GraphError, match="trained on 7 features"):
        load_run(run).logits(bigger)


def test_features_of_other_names_are_refused(tmp_path: Path) -> None:
    task = small_task()
    data = task.data.clone()
    data.feature_names = list("abcdefg")
    train_in(tmp_path, Task(data, task.split, task.source, task.model, task.recipe), 0)
    data.feature_names = list("bacdefg")
    with pytest.raises(GraphError, match="feature_names"):
        load_run(tmp_path).logits(data)


def test_other_classes_are_refused_and_missing_labels_are_not(run: Path) -> None:
    data = small_graph()
    del data.y
    assert load_run(run).logits(data).shape == (60, 3)
    data.class_names = ["ant", "bee", "cat"]
    with pytest.raises(GraphError, match="trained on the classes 0, 1, 2"):
        load_run(run).logits(data)
    with pytest.raises(GraphError, match="4 classes"):
        load_run(run).logits(small_graph(classes=4))


def test_the_best_run_by_validation_is_taken(tmp_path: Path) -> None:
    records = train_seeds(tmp_path, small_task(), range(3), lambda seed: Callbacks())
    best = max(records, key=lambda record: record["val_accuracy"])
    found = RunFolder(best_run(tmp_path)).result
    assert found is not None
    assert found["val_accuracy"] == best["val_accuracy"]


@pytest.mark.parametrize(
    "damage", ["truncated", "altered", "foreign", "missing", "of another model"]
)
def test_damaged_models_are_typed_errors(tmp_path: Path, run: Path, damage: str) -> None:
    path = run / "model.safetensors"
    content = path.read_bytes()
    if damage == "truncated":
        path.write_bytes(content[:-10])
    elif damage == "altered":
        path.write_bytes(content[:-10] + bytes(10))
    elif damage == "foreign":
        path.write_bytes(b"PK\x03\x04 something else")
    elif damage == "missing":
        path.unlink()
    else:
        train_in(tmp_path / "other", small_task("GCN"), 0)
        path.write_bytes((tmp_path / "other" / "model.safetensors").read_bytes())
    with pytest.raises(RunError):
        load_run(run)


@pytest.mark.parametrize(
    ("old", "new"), [('"LGCN"', '"LGNC"'), ("hidden_channels = 4", "hidden_channels = 5")]
)
def test_a_configuration_of_another_model_is_a_typed_error(run: Path, old: str, new: str) -> None:
    config = run / "config.toml"
    config.write_text(config.read_text().replace(old, new))
    as_of_earlier_release(run)
    with (
        pytest.warns(RunWarning, match=r"no manifest\.json"),
        pytest.raises(RunError, match="do not belong together"),
    ):
        load_run(run)


def stopped(folder: Path, epochs: int) -> list[dict[str, Any]]:
    """Train, stop after some epochs, and return the history."""
    lines: list[dict[str, Any]] = []
    task = small_task(start_record_epoch=-1)
    train_in(folder, task, 0, Callbacks(lines.append, lambda: len(lines) == epochs))
    return lines


@pytest.mark.parametrize("place", ["", "seed-0", "candidates/gcn"])
def test_a_run_that_was_stopped_has_the_weights_of_its_best_epoch(
    tmp_path: Path, place: str
) -> None:
    lines = stopped(tmp_path / place, 7)
    run = load_run(tmp_path)
    assert run.folder == tmp_path / place
    assert run.record["interrupted"] and run.record["epochs"] == 7
    split = small_task().split
    right = run.predict(small_graph())[split.val] == small_graph().y.numpy()[split.val]
    assert right.mean() == lines[run.record["best_epoch"]]["val_accuracy"]


def test_of_candidates_the_best_so_far_is_taken(tmp_path: Path) -> None:
    stopped(tmp_path / "candidates" / "short", 1)
    record = train_in(tmp_path / "candidates" / "long", small_task(), 0)
    scores = {"short": RunFolder(tmp_path / "candidates" / "short"), "long": None}
    about = scores["short"].best_so_far
    assert about is not None
    assert float(about[1]["best"]["epoch_accuracy"]) < record["val_accuracy"]
    run = load_run(tmp_path)
    assert run.folder.name == "long" and run.record["interrupted"]  # nothing is chosen yet


def test_a_folder_without_a_finished_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no finished run"):
        load_run(tmp_path)
