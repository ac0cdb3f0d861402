"""`nodewise train --recipe auto`, through the real command."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.test_user_tables import answer, done, invoke, refused, write_karate

TABLES = ["--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "club"]
QUICK = ["--set", "epochs=6", "--set", "hidden_channels=4", "--threads", "1"]
AUTO = ["train", *TABLES, "--recipe", "auto", *QUICK]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_karate(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_chosen_run_is_a_run_like_any_other(here: Path) -> None:
    found = answer(*AUTO, "--out", "run")
    choice = json.loads((here / "run" / "choice.json").read_text())
    assert found["choice"] == choice
    config = (here / "run" / "config.toml").read_text()
    assert 'recipe = "auto"' in config and f'model = "{choice["model"]}"' in config
    chosen = next(one for one in choice["candidates"] if one["name"] == choice["chosen"])
    assert f"lambda_local = {chosen['settings']['lambda_local']}" in config
    assert found["runs"][0]["val_accuracy"] == chosen["val_accuracy"]
    assert answer("evaluate", "run")["same_bits"] is True
    assert answer("predict", "run", "--out", "labels.csv")["nodes"] == 35
    assert answer(*AUTO, "--out", "run") == found  # read, with the very same seconds


def test_the_choice_is_told_and_on_the_page(here: Path) -> None:
    told = invoke(*AUTO, "--out", "run").stdout
    choice = json.loads((here / "run" / "choice.json").read_text())
    page = (here / "run" / "report.html").read_text()
    assert f"chosen on validation nodes: {choice['chosen']}" in told
    assert choice["sentence"] in told and choice["sentence"] in page
    assert all(one["name"] in page for one in choice["candidates"])
    assert invoke(*AUTO, "--out", "run", "--quiet").stdout.lstrip().startswith("test accuracy")


def test_several_runs_choose_once(here: Path) -> None:
    found = answer(*AUTO, "-m", "LGIN", "--runs", 3, "--seed", 5, "--out", "runs")
    assert [record["seed"] for record in found["runs"]] == [5, 6, 7]
    assert {record["model"] for record in found["runs"]} == {"LGIN"}
    assert found["choice"]["seed"] == 5 and (here / "runs" / "choice.json").exists()
    assert {path.name for path in (here / "runs" / "candidates").iterdir()} == {"sum", "sum-beside"}
    answer("predict", "runs", "--out", "labels.csv")


def test_a_model_is_chosen_from_its_own_candidates(here: Path) -> None:
    found = answer(*AUTO, "-m", "LGCN", "--out", "run")
    assert {one["model"] for one in found["choice"]["candidates"]} == {"LGCN"}
    assert found["choice"]["beside"]["model"] == "LGCN:global"


def test_weights_leave_out_models_that_cannot_use_them(here: Path) -> None:
    found = answer(*AUTO, "--weight", "w", "--out", "run")
    outcomes = {one["model"]: one["outcome"] for one in found["choice"]["candidates"]}
    assert "does not use the weights" in outcomes["LGAT"]
    assert answer("evaluate", "run")["same_bits"] is True
    told = done(*AUTO, "--weight", "w", "--out", "run").splitlines()
    lines = [line for line in told if "does not use the weights" in line]
    assert lines and all(line.startswith("left out: ") for line in lines)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("-m", "GCN-FiLM"), "recipe 'auto', model: "),
        (("--set", "lamda_local=1"), "did you mean 'lambda_local'"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_nothing(
    here: Path, arguments: tuple[str, ...], says: str
) -> None:
    assert says in refused(*AUTO, *arguments)
    assert not (here / "runs").exists()


def test_a_folder_with_another_run_is_refused_before_anything_is_trained(here: Path) -> None:
    answer("train", *TABLES, *QUICK, "--out", "run")
    assert "recipe = 'nodewise', not 'auto'" in refused(*AUTO, "--out", "run")
    assert not (here / "run" / "candidates").exists()


def test_ctrl_c_saves_and_the_same_command_goes_on(here: Path) -> None:
    options = ["--set", "epochs=4000", "--set", "patience=4000", "-m", "LGIN", "--out", "run"]
    command = [sys.executable, "-m", "nodewise", "train", *TABLES, "--recipe", "auto", *options]
    paused = here / "run" / "candidates" / "sum" / "checkpoint" / "last.safetensors"
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
