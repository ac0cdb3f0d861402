from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from nodewise.cli import _plain_training
from nodewise.cli.app import app


@pytest.fixture(scope="module")
def finished() -> subprocess.CompletedProcess[str]:
    # One thread: on a busy machine a graph this small only loses time by waiting for a second.
    options = ["--seeds", "1", "--threads", "1", "--json"]
    command = [sys.executable, "-m", "nodewise", "demo", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_the_last_line_is_the_json_object(finished: subprocess.CompletedProcess[str]) -> None:
    answer = json.loads(finished.stdout.splitlines()[-1])
    assert answer["report"] is None
    (row,) = answer["table"]
    assert row["model"] == "GCN"
    assert 0.35 < row["test_accuracy_mean"] < 0.75  # better than chance, and far from solved
    assert row["test_accuracy_std"] == 0  # of a single run


def test_the_table_gives_percent(finished: subprocess.CompletedProcess[str]) -> None:
    accuracy = json.loads(finished.stdout.splitlines()[-1])["table"][0]["test_accuracy_mean"]
    assert f"{100 * accuracy:.1f} ± 0.0 %" in finished.stdout


def test_neither_bar_nor_warning_when_not_at_a_terminal(
    finished: subprocess.CompletedProcess[str],
) -> None:
    assert finished.stderr == ""


def test_mean_and_deviation_are_those_of_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Iterator[float] = iter([0.5, 0.6, 0.7])
    monkeypatch.setattr(_plain_training, "best_test_accuracy", lambda *_: next(found))
    result = CliRunner().invoke(app, ["demo", "--seeds", "3", "--json"])
    (row,) = json.loads(result.stdout.splitlines()[-1])["table"]
    assert row["test_accuracy_mean"] == pytest.approx(0.6)
    assert row["test_accuracy_std"] == pytest.approx(0.0816, abs=1e-4)


def test_ctrl_c_ends_in_one_line_and_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(_plain_training, "best_test_accuracy", interrupted)
    result = CliRunner().invoke(app, ["demo", "--seeds", "1"])
    assert result.exit_code == 130
    assert result.stdout == ""
    assert result.stderr == "nodewise: stopped by Ctrl-C; nothing was written\n"


@pytest.mark.parametrize("option", ["--seeds", "--threads"])
def test_zero_is_refused(option: str) -> None:
    assert CliRunner().invoke(app, ["demo", option, "0"]).exit_code == 2
