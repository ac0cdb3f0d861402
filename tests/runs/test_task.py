from __future__ import annotations

from dataclasses import replace

from tests.training.tasks import small_task


def test_a_configuration_names_graph_split_and_settings() -> None:
    task = small_task()
    config = task.config(5)
    assert config["graph"]["dataset"] == "small" and config["graph"]["classes"] == ["0", "1", "2"]
    assert config["settings"] == task.recipe.settings
    named = task.data.clone()
    named.class_names = ["ant", "bee", "cat"]
    assert replace(task, data=named).config(5)["graph"]["classes"] == ["ant", "bee", "cat"]
