from __future__ import annotations

from dataclasses import replace

import torch

from nodewise.data.splits import Split
from nodewise.runs.run import scores_of, train, versions
from tests.training.tasks import small_task


def test_only_parts_with_nodes_are_scored() -> None:
    y = torch.tensor([0, 0, 1, 1, 2])
    logits = torch.eye(3)[torch.tensor([0, 1, 1, 0, 2])]
    scores = scores_of(logits, y, Split([0], [1, 2], []))  # type: ignore[arg-type]
    assert scores["val_accuracy"] == 0.5 and not any(name.startswith("test") for name in scores)
    scores = scores_of(logits, y, Split([0], [1], [2, 3, 4]))  # type: ignore[arg-type]
    assert scores["test_accuracy"] == 2 / 3


def test_a_record_says_how_it_came_about() -> None:
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
