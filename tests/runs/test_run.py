from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nodewise.data.fingerprints import logits_sha256
from nodewise.data.splits.split import Split
from nodewise.models.layerwise import Layerwise
from nodewise.runs.run import Callbacks, scores_of, train, train_in, versions
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


def test_the_nodes_that_are_computed_at_the_end_are_counted_and_keep_to_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets, seen = [], []
    within = Layerwise.__init__

    def watched(self: Layerwise, model: Any, x: Any, graph: Any, memory: int, *rest: Any) -> None:
        budgets.append(memory)
        within(self, model, x, graph, memory, *rest)

    monkeypatch.setattr(Layerwise, "__init__", watched)
    task = small_task("LGCN", engine="minibatch", memory="2kB", epochs=1)
    train_in(tmp_path / "run", task, 0, Callbacks(nodes=lambda *counts: seen.append(counts)))
    assert set(budgets) == {2000} and len(budgets) == 2  # scores, and the page's figures
    done, total = seen[-1]
    assert done == total and len(seen) > 2
