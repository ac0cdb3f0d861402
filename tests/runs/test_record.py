from __future__ import annotations

import torch

from nodewise.data.splits.split import Split
from nodewise.runs.record import scores_of, versions
from nodewise.runs.run import train
from nodewise.training.metrics import METRICS
from tests.training.tasks import small_task


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


def test_a_record_names_model_recipe_and_versions() -> None:
    task = small_task()
    record = train(task, 5).record
    assert record["versions"] == versions() and "torch" in versions()
    assert record["settings"] == task.recipe.settings and record["seed"] == 5
    assert record["split_sha256"] == task.split.sha256()
    assert record["graph_sha256"] == task.graph_sha256
