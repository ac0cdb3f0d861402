from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nodewise.cli.app import app
from nodewise.experiments import runner
from nodewise.experiments.pace import Pace
from nodewise.experiments.runner import Job
from nodewise.training.task import dataset_source


def job(dataset: str, model: str, seed: int = 0) -> Job:
    return Job(dataset_source(dataset), model, seed, Path("nowhere"))


def test_a_run_is_taken_to_be_like_those_of_its_row_or_its_data_set() -> None:
    pace = Pace()
    assert pace.seconds([job("cora", "LGCN")]) is None
    pace.learn(job("cora", "GCN"), 10.0)
    pace.learn(job("cora", "LGCN"), 50.0)
    pace.learn(job("cora", "LGCN", 1), 70.0)
    pace.learn(job("amazon", "LGCN"), 1000.0)
    assert pace.seconds([job("cora", "LGCN", 2)]) == 60.0
    assert pace.seconds([job("cora", "GAT")]) == (10 + 50 + 70) / 3
    assert pace.seconds([job("citeseer", "GAT")]) == (10 + 50 + 70 + 1000) / 4
    assert pace.seconds([job("cora", "GCN"), job("amazon", "LGCN", 5)]) == 1010.0
    assert pace.seconds([]) == 0.0


def test_a_suite_tells_the_time_it_needs_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Job, "is_done", lambda one: one.seed == 0)
    monkeypatch.setattr(
        "nodewise.training.run_folder.RunFolder.result", {"seconds": 600.0, "test_accuracy": 0.8}
    )

    def made(left: Sequence[Job], workers: int) -> Iterator[tuple[Job, dict[str, Any]]]:
        for one in left:
            yield one, {"interrupted": False, "seconds": 600.0, "test_accuracy": 0.8}

    monkeypatch.setattr(runner, "run_all", made)
    command = ["reproduce", "main", "-d", "cora", "-m", "GCN", "--runs", "3", "--workers", "2"]
    result = CliRunner().invoke(app, [*command, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "1 runs done, 2 left, about 10 min to go" in result.output
    assert "1 of 2, about 10 min to go: cora GCN official seed 1" in result.output
    assert "2 of 2: cora GCN official seed 2" in result.output


def test_a_folder_that_cannot_be_made_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    command = [
        "reproduce",
        "main",
        "-d",
        "cora",
        "-m",
        "GCN",
        "--out",
        str(tmp_path / "file" / "x"),
    ]
    result = CliRunner().invoke(app, command)
    assert result.exit_code != 0 and "cannot be written" in str(result.exception)
