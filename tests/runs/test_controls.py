from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from nodewise.data.splits.split import Split
from nodewise.runs import controls
from nodewise.runs.controls import controls_in, controls_of, read_controls
from nodewise.runs.run import train_in
from nodewise.training.recipe import load_recipe
from tests.training.tasks import small_task


def test_the_majority_is_that_of_training_and_validation_nodes() -> None:
    task = small_task()
    y = task.data.y.clone()
    y[:] = torch.tensor([0, 1, 2, 2])[torch.arange(60) % 4]
    data = task.data.clone()
    data.y = y
    split = Split(np.arange(12), np.arange(12, 24), np.arange(24, 60))
    found = controls_of(replace(task, data=data, split=split))["majority"]
    assert found["class"] == "2" and found["test_accuracy"] == found["test_accuracy"] == 0.5
    assert found["test_roc_auc"] == 0.5
    assert found["test_balanced_accuracy"] == pytest.approx(1 / 3)
    assert found["test_log_loss"] == pytest.approx(1.5 * np.log(2))
    low, high = found["intervals"]["test_accuracy"]
    assert low < 0.5 < high and found["intervals"]["test_roc_auc"] == [0.5, 0.5]


@pytest.mark.parametrize("sparse", [False, True])
def test_features_that_tell_the_class_are_enough(sparse: bool) -> None:
    task = small_task()
    data = task.data.clone()
    data.x = torch.eye(3)[data.y] if not sparse else torch.eye(20)[data.y].to_sparse_csr()
    found = controls_of(replace(task, data=data))["features_only"]
    assert found["test_accuracy"] == found["val_accuracy"] == 1
    data.x = torch.ones(60, 2)
    assert controls_of(replace(task, data=data))["features_only"]["test_accuracy"] < 0.5


def test_a_class_without_training_nodes_is_never_predicted() -> None:
    task = small_task()
    train = task.split.train[task.data.y.numpy()[task.split.train] != 1]
    few = replace(task, split=Split(train, task.split.val, task.split.test))
    assert controls_of(few)["features_only"]["test_balanced_accuracy"] <= 2 / 3


def test_what_takes_long_is_skipped_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    task = small_task()
    one = replace(task, split=Split(task.split.train[:1], task.split.val, task.split.test))
    assert "one class" in controls_of(one)["features_only"]["skipped"]
    monkeypatch.setattr(controls, "_MOST_WORK", 10)
    assert "too many features" in controls_of(task)["features_only"]["skipped"]


def test_they_are_computed_once_for_a_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = small_task()
    assert read_controls(tmp_path) is None
    found = controls_in(tmp_path, task)
    assert read_controls(tmp_path) == found == json.loads(json.dumps(found))
    monkeypatch.setattr(controls, "controls_of", lambda *_: {"new": True})
    assert controls_in(tmp_path, task) == found
    turned = replace(task, split=Split(task.split.val, task.split.train, task.split.test))
    assert controls_in(tmp_path, turned)["new"]


def test_a_run_of_the_same_task_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = small_task("LGCN", "nodewise")
    recipe = load_recipe("nodewise", "Logistic")
    record = train_in(tmp_path / "known", replace(task, model="Logistic", recipe=recipe), 0)
    expected = controls_of(task)["features_only"]
    monkeypatch.setattr(controls, "_trained", lambda task, model: {"seconds": 0, "made": model})
    found = controls_of(task, tmp_path / "known")["features_only"]
    assert found == {**expected, "seconds": record["seconds"]}
    turned = replace(task, split=Split(task.split.val, task.split.train, task.split.test))
    assert controls_of(turned, tmp_path / "known")["features_only"]["made"] == "Logistic"
    balanced = small_task("LGCN", "nodewise", class_weight="balanced")
    assert controls_of(balanced, tmp_path / "known")["features_only"]["made"] == "Logistic"
    assert controls_of(task, tmp_path / "none")["features_only"]["made"] == "Logistic"
