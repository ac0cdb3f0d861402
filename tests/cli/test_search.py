from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nodewise.cli.app import app
from nodewise.errors import NodewiseError
from nodewise.training.recipe import parse_settings

pytest.importorskip("optuna", reason="optuna is not installed")


def refusal(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["search", *map(str, arguments)])
    assert isinstance(result.exception, NodewiseError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("coar",), "did you mean 'cora'?"),
        (("toy", "--split", "nope"), "split"),
        (("nodes.csv",), "nodes.csv"),
    ],
)
def test_wrong_input_is_refused_at_once_and_leaves_nothing(
    arguments: tuple[str, ...], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert says in refusal(*arguments)
    assert list(tmp_path.iterdir()) == []


def test_out_must_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "is not a folder to write to" in refusal("toy", "--out", tmp_path / "file")


@pytest.mark.slow
def test_what_is_printed_can_be_pasted_and_another_search_is_refused(tmp_path: Path) -> None:
    fixed = ["--set", "epochs=2", "--set", "layer_norm=False"]
    command = ["search", "toy", "-m", "GCN", "--workers", "1", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, [*command, *fixed, "--trials", "1", "--json"])
    assert result.exit_code == 0, result.output
    first, model, *settings, last = result.stdout.splitlines()
    assert first.startswith("best validation accuracy ")
    assert first.endswith(" %, with")
    assert model == "  --model GCN --recipe nodewise"
    assert {"  --set epochs=2", "  --set layer_norm=false"} <= set(settings)
    pasted = parse_settings(line.removeprefix("  --set ") for line in settings)
    assert pasted == json.loads(last)["settings"]
    other = refusal(*command[1:], "--set", "epochs=3", "--set", "layer_norm=false")
    assert "holds a search with fixed.epochs = 2, not 3; choose another folder" in other


@pytest.mark.slow
def test_the_metric_is_what_trials_are_compared_by(tmp_path: Path) -> None:
    command = ["search", "toy", "-m", "GCN", "--workers", "1", "--out", str(tmp_path)]
    fixed = ["--metric", "log_loss", "--set", "epochs=2", "--trials", "2", "--json"]
    result = CliRunner().invoke(app, [*command, *fixed])
    assert result.exit_code == 0, result.output
    first, *_, last = result.stdout.splitlines()
    found = json.loads(last)
    records = [
        json.loads(path.read_text()) for path in tmp_path.glob("trials/*/seed-0/result.json")
    ]
    assert found["val_log_loss"] == min(record["val_log_loss"] for record in records)
    assert first == f"best validation log loss {found['val_log_loss']:.3f}, with"
    assert found["settings"]["metric"] == "log_loss"
