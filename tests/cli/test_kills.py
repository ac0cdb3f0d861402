"""Commands that are killed again and again end with the records of one that was not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.cli.test_convert_store import MANY, large_tables

# Of each of the six commands below: NODEWISE_KILLS=50 make test-slow
KILLS = int(os.environ.get("NODEWISE_KILLS", "3"))
LONG = ["--set", "epochs=600", "--set", "patience=600"]
BATCHES = ["--batch-size", "16", "--fanout", "5,5", "--set", "epochs=100", "--set", "patience=100"]
COMMANDS = {
    "train": ["train", "toy", "--runs", "2", *LONG],
    "minibatch": ["train", "toy", "--model", "LSAGE", "--engine", "minibatch", *BATCHES],
    "search": ["search", "toy", "-m", "GCN", "--trials", "4", *LONG, "--workers", "2"],
}


def start(command: list[str], out: Path) -> subprocess.Popen[bytes]:
    """A command in a group of processes of its own."""
    option = "--to" if command[0] == "convert" else "--out"
    words = [sys.executable, "-m", "nodewise", *command, option, str(out), "--quiet"]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True)


def finish(command: list[str], out: Path) -> float:
    """Run a command to its end; returns the seconds."""
    began = time.monotonic()
    assert start(command, out).wait(900) == 0
    return time.monotonic() - began


def records(out: Path) -> dict[str, Any]:
    """The records of all runs by their places, without times."""
    found = {}
    for path in sorted(out.rglob("result.json")):
        record = json.loads(path.read_text())
        del record["seconds"]
        found[str(path.relative_to(out))] = record
    return found


def kill_and_finish(command: list[str], out: Path, seconds: float, kills: int) -> None:
    """Kill a command at random moments, and let it end at last."""
    draw = Random(0)
    for _ in range(kills):
        process = start(command, out)
        time.sleep(draw.uniform(0.2, 0.9) * seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    finish(command, out)
    assert not list(out.rglob("*.part"))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_commands_leave_the_records_of_undisturbed_ones(tmp_path: Path, name: str) -> None:
    seconds = finish(COMMANDS[name], tmp_path / "whole")
    kill_and_finish(COMMANDS[name], tmp_path / "killed", seconds, KILLS)
    assert records(tmp_path / "killed") == records(tmp_path / "whole") != {}


@pytest.mark.slow
def test_a_killed_conversion_leaves_the_store_of_an_undisturbed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    large_tables(40_000)
    command = ["convert", *MANY, "--force"]  # some kills come when all is written
    seconds = finish(command, tmp_path / "whole")
    kill_and_finish(command, tmp_path / "killed", seconds, KILLS)
    whole, killed = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("whole", "killed")
    )
    assert whole == killed != {}


@pytest.mark.slow
def test_killed_auto_ends_with_a_run_of_the_model_that_it_chose(tmp_path: Path) -> None:
    command, out = ["train", "toy", "--recipe", "auto", "--budget", "20s"], tmp_path / "auto"
    kill_and_finish(command, out, 30, KILLS)
    choice = json.loads((out / "choice.json").read_text())
    result = json.loads((out / "result.json").read_text())
    assert (choice["model"], choice["settings"]) == (result["model"], result["settings"])
    words = [sys.executable, "-m", "nodewise", "evaluate", str(out), "--json"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert json.loads(told.splitlines()[-1])["same_bits"]


@pytest.mark.slow
@pytest.mark.skipif("NODEWISE_DATA" not in os.environ, reason="needs the data sets")
def test_killed_reproduce_has_the_records_of_an_undisturbed_one(tmp_path: Path) -> None:
    command = ["reproduce", "main", "--models", "GCN", "--datasets", "cora", "--runs", "1"]
    seconds = finish(command, tmp_path / "whole")
    kill_and_finish(command, tmp_path / "killed", seconds, KILLS)
    whole, killed = (
        [json.loads(line) for line in (tmp_path / name / "main.jsonl").read_text().splitlines()]
        for name in ("whole", "killed")
    )
    for record in (*whole, *killed):
        del record["seconds"]
    assert whole == killed != []


@pytest.mark.slow
def test_a_closed_terminal_saves_as_ctrl_c_does(tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = start(["train", "toy", "--set", "epochs=100000", "--set", "patience=100000"], out)
    while not (out / "history.jsonl").exists():
        time.sleep(0.05)
        assert process.poll() is None
    time.sleep(1)
    process.send_signal(signal.SIGHUP)
    assert process.wait(60) == 130
    assert (out / "checkpoint" / "last.safetensors").exists()
