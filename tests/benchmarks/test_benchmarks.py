"""The scripts that check promises run to their end, on little."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def run(*command: str) -> subprocess.CompletedProcess[str]:
    whole = [sys.executable, str(BENCHMARKS / command[0]), *command[1:]]
    return subprocess.run(whole, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_three_epochs_do_not_keep_the_toy_graphs_promise() -> None:
    ended = run("toy_promise.py", "--seeds", "2", "--epochs", "3")
    rows = ended.stdout.splitlines()
    assert ended.returncode == 1, ended.stderr
    assert len(rows) == 5 and rows[3].startswith("LGCN ") and rows[3].endswith("NO")


def test_a_small_table_is_read_in_time() -> None:
    ended = run("read_table.py", "--nodes", "200", "--edges", "1000")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[-1].endswith("kept")


def test_tables_go_to_predictions_in_one_command(tmp_path: Path) -> None:
    few = ("--nodes", "400", "--folder", str(tmp_path), "--recipe", "nodewise")
    ended = run("files_to_predictions.py", *few)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    figures = json.loads(ended.stdout.splitlines()[-1])
    assert figures["predictions"] == figures["nodes"] == 400 < figures["edges"]
    assert 0 < figures["anonymous_mb"] < figures["peak_mb"] < 2000


@pytest.mark.slow
def test_twins_are_trained_once(tmp_path: Path) -> None:
    table = tmp_path / "localize.jsonl"
    few = ("--dataset", "toy", "--seeds", "1", "--epochs", "2", "--convs", "SAGEConv")
    first, again = (run("localized_twins.py", *few, "--out", str(table)) for _ in range(2))
    assert first.returncode == again.returncode == 0, first.stderr + again.stderr
    assert len(first.stdout.splitlines()) == 6 and again.stdout == ""
    records = [json.loads(line) for line in table.read_text("utf-8").splitlines()]
    assert {(one["features"], one["form"]) for one in records} == {
        (features, form)
        for features in ("raw", "row-sum", "standardized")
        for form in ("plain", "localized")
    }
    assert all(0 < one["test_accuracy"] < 1 for one in records)
    assert sum(one.get("largest_scale", 0) > 0 for one in records) == 3


@pytest.mark.slow
def test_the_walk_of_a_row_is_counted() -> None:
    ended = run("walk_of_a_row.py")
    *_, counted, opens = ended.stdout.splitlines()
    assert counted.startswith("all "), ended.stderr
    assert opens == "nodes.csv opened 2 times, edges.csv opened 2 times"
