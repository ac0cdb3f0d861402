from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from nodewise.data.fingerprints import logits_sha256
from nodewise.data.splits.split import Split
from nodewise.runs.run import scores_of, train, train_in, versions
from nodewise.runs.saved import load_run
from nodewise.training.metrics import METRICS
from tests.training.tasks import small_graph, small_task


def test_only_parts_with_nodes_are_scored() -> None:
    y = torch.tensor([0, 0, 1, 1, 2])
    logits = torch.eye(3)[torch.tensor([0, 1, 1, 0, 2])]
    scores = scores_of(logits, y, Split([0], [1, 2], []))  # type: ignore[arg-type]
    assert scores["val_accuracy"] == 0.5 and not any(name.startswith("test") for name in scores)
    scores = scores_of(logits, y, Split([0], [1], [2, 3, 4]))  # type: ignore[arg-type]
    assert scores["test_accuracy"] == 2 / 3


def test_a_record_has_all_metrics_of_both_parts_and_intervals_of_one() -> None:
    record = train(small_task(epochs=5), 0).record
    names = (*METRICS, "micro_f", "calibration_error")
    assert {f"{part}_{name}" for part in ("val", "test") for name in names} <= record.keys()
    assert record["intervals"].keys() == {f"test_{name}" for name in METRICS}
    low, high = record["intervals"]["test_accuracy"]
    assert low < record["test_accuracy"] < high


def test_calibrated_probabilities_come_back_from_files(tmp_path: Path) -> None:
    settings = {"epochs": 5, "learning_rate": 0.1}
    plain = train_in(tmp_path / "plain", small_task("GCN", **settings), 0)
    record = train_in(tmp_path / "cal", small_task("GCN", **settings, calibration="temperature"), 0)
    assert record["val_log_loss"] < plain["val_log_loss"] and "temperature" not in plain
    assert record["test_accuracy"] == plain["test_accuracy"]
    logits = load_run(tmp_path / "cal").logits(small_graph())
    assert logits_sha256(logits) == record["logits_sha256"] != plain["logits_sha256"]


def test_a_record_names_model_recipe_and_versions() -> None:
    task = small_task()
    record = train(task, 5).record
    assert record["versions"] == versions() and "torch" in versions()
    assert record["settings"] == task.recipe.settings and record["seed"] == 5
    assert record["split_sha256"] == task.split.sha256()
    assert record["graph_sha256"] == task.graph_sha256


def test_a_configuration_names_graph_split_and_settings() -> None:
    task = small_task()
    config = task.config(5)
    assert config["graph"]["dataset"] == "small" and config["graph"]["classes"] == ["0", "1", "2"]
    assert config["settings"] == task.recipe.settings
    named = task.data.clone()
    named.class_names = ["ant", "bee", "cat"]
    assert replace(task, data=named).config(5)["graph"]["classes"] == ["ant", "bee", "cat"]
