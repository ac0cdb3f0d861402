from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nodewise.cli.app import app
from nodewise.experiments.search import search_space
from nodewise.models.zoo import ZOO
from nodewise.training.recipe import check_settings, known_keys

pytest.importorskip("optuna", reason="optuna is not installed")


@pytest.mark.parametrize("model", ZOO)
def test_spaces_hold_values_that_recipes_take(model: str) -> None:
    for key, values in search_space(model, {}).items():
        assert key in known_keys()
        ends = values if isinstance(values, list) else [values["low"], values["high"]]
        for value in ends:
            check_settings({key: value}, "space")


def test_what_is_fixed_is_not_searched() -> None:
    assert "hidden_channels" not in search_space("GCN", {"hidden_channels": 8})


def run(folder: Path, trials: int) -> dict[str, Any]:
    options = ["--trials", trials, "--set", "epochs=6", "--set", "hidden_channels=4"]
    command = ["search", "toy", "-m", "GCN", *options, "--out", folder, "--json", "--workers", 1]
    result = CliRunner().invoke(app, [str(word) for word in command])
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout.splitlines()[-1]))


def test_a_search_goes_on_and_gives_the_best_by_validation(tmp_path: Path) -> None:
    first = run(tmp_path, 2)
    assert first["trials"] == 2
    found = run(tmp_path, 4)
    assert found["trials"] == 4
    records = [json.loads(path.read_text()) for path in tmp_path.glob("trials/*/*/result.json")]
    assert len(records) == 4
    assert found["val_accuracy"] == max(record["val_accuracy"] for record in records)
    best = max(records, key=lambda record: record["val_accuracy"])
    assert found["settings"]["act"] == best["settings"]["act"]
    assert found["settings"]["learning_rate"] == pytest.approx(
        best["settings"]["learning_rate"], rel=0.01
    )
