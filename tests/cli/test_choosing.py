"""`nodewise train --recipe auto`, through the real command."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from unittest.mock import Mock

import pytest
import typer

from nodewise.cli import choosing
from nodewise.experiments.auto import selection
from nodewise.io import unsealed
from tests.cli.test_user_tables import answer, done, refused, write_karate

TABLES = ["--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "club"]
QUICK = ["--set", "epochs=6", "--set", "hidden_channels=4", "--threads", "1", "--workers", "1"]
AUTO = ["train", *TABLES, *QUICK]
ONE = [*AUTO, "--recipe", "auto", "-m", "GCN"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_karate(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_graph_of_ones_own_is_trained_by_auto(here: Path) -> None:
    found = answer(*AUTO, "--out", "run")
    choice = unsealed(json.loads((here / "run" / "choice.json").read_text()))
    config = (here / "run" / "config.toml").read_text()
    assert found["choice"] == choice and 'recipe = "auto"' in config
    assert found["chosen"] == {"model": choice["model"], "settings": choice["settings"]}
    assert found["localization_gain"] == choice["localization_gain"] is not None
    assert found["localization_gain_se"] == choice["localization_gain_se"] >= 0
    assert found["runs"][0]["val_accuracy"] == choice["val_score"]
    assert {one["model"] for one in choice["candidates"]} >= {"MLP", "SAGE", "GCN", "GAT-strong"}
    assert answer("evaluate", "run")["same_bits"] is True
    assert answer("predict", "run", "--out", "labels.csv")["nodes"] == 35
    page = (here / "run" / "report.html").read_text()
    assert all(escape(sentence) in page for sentence in choice["sentences"])
    output = done(*AUTO, "--out", "run")  # read back
    assert all(sentence in output for sentence in choice["sentences"])
    assert "candidate" not in done(*AUTO, "--out", "run", "--quiet")


def test_the_same_again_is_read_back(here: Path) -> None:
    found = answer(*ONE, "--out", "run")
    assert answer(*ONE, "--out", "run") == found  # with the very same seconds
    assert {one["model"] for one in found["choice"]["candidates"]} == {"GCN"}
    assert found["localization_gain"] is None


def test_several_runs_choose_once(here: Path) -> None:
    found = answer(*ONE, "--runs", 3, "--seed", 5, "--out", "runs")
    assert [record["seed"] for record in found["runs"]] == [5, 6, 7]
    assert found["choice"]["seed"] == 5 and (here / "runs" / "choice.json").exists()
    learned = {record["refit_epochs"] for record in found["runs"]}
    assert learned == {found["choice"]["refit_epochs"]}
    answer("predict", "runs", "--out", "labels.csv")


def test_without_a_refit_validation_nodes_are_not_learned_from(here: Path) -> None:
    found = answer(*ONE, "--no-refit", "--out", "run")
    assert "refit_epochs" not in found["runs"][0]
    assert found["runs"][0]["best_epoch"] == found["choice"]["best_epoch"]


def test_weights_leave_out_models_that_cannot_use_them(here: Path) -> None:
    found = answer(*AUTO, "--weight", "w", "--out", "run")
    outcomes = {one["model"]: one["outcome"] for one in found["choice"]["candidates"]}
    assert "does not use the weights" in outcomes["GAT-strong"]
    assert answer("evaluate", "run")["same_bits"] is True
    output = done(*AUTO, "--weight", "w", "--out", "run").splitlines()
    lines = [line for line in output if "does not use the weights" in line]
    assert lines and all(line.startswith("left out: ") for line in lines)


def test_a_budget_is_kept(here: Path) -> None:
    began = time.perf_counter()
    options = ("--set", "epochs=100000", "--set", "patience=100000", "--budget", "6s", "-m", "GCN")
    flags = ["train", *TABLES, "--recipe", "auto", "--threads", 1, "--workers", 1, *options]
    found = answer(*flags, "--out", "run")
    assert found["choice"]["seconds"] < 6.6 and time.perf_counter() - began < 12
    assert found["choice"]["epochs"] > 50


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("-m", "GCN-FILM"), "did you mean 'GCN-FiLM'"),
        (("--budget", "soon"), "--budget: is not a time"),
        (("--memory", "much"), "--memory: is not a size"),
        (("--set", "lamda_local=1"), "did you mean 'lambda_local'"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_nothing(
    here: Path, arguments: tuple[str, ...], says: str
) -> None:
    assert says in refused(*AUTO, *arguments)
    assert not (here / "runs").exists()


def test_a_folder_with_another_run_is_refused_before_anything_is_trained(here: Path) -> None:
    answer("train", *TABLES, *QUICK, "--recipe", "nodewise", "--out", "run")
    assert "recipe = 'nodewise', not 'auto'" in refused(*AUTO, "--out", "run")
    assert not (here / "run" / "candidates").exists()


@pytest.mark.slow
def test_ctrl_c_saves_and_the_same_command_goes_on(here: Path) -> None:
    options = ["--set", "epochs=4000", "--set", "patience=4000", "-m", "LGIN", "--out", "run"]
    command = [sys.executable, "-m", "nodewise", *AUTO[:7], "--workers", "1", *options]
    paused = here / "run" / "candidates" / "LGIN" / "checkpoint" / "last.safetensors"
    history = paused.parent.parent / "history.jsonl"
    process = subprocess.Popen(command, stdout=-1, stderr=-1, text=True)
    # A run that takes long is saved before its round is over, too.
    while not paused.exists() or history.read_bytes().count(b"\n") < 60:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped while choosing" in err and "run the same command to continue" in err
    assert not (here / "run" / "choice.json").exists()
    epochs = [json.loads(line)["epoch"] for line in history.read_text().splitlines()]
    assert epochs == list(range(len(epochs))) and len(epochs) >= 60


def test_that_it_stopped_is_printed_when_the_bar_is_gone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def bar(*_: object, **__: object) -> Iterator[Mock]:
        try:
            yield Mock()
        finally:
            print("the bar is gone", file=sys.stderr)

    monkeypatch.setattr(choosing, "choosing_progress", bar)
    monkeypatch.setattr(selection, "choose_into", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(typer.Exit):
        choosing.choose_run(Mock(folder="runs"), Path("runs/mine"), quiet=False)
    assert capsys.readouterr().err.startswith("the bar is gone\nnodewise: stopped while choosing")
