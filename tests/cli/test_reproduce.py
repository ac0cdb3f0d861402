from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from nodewise._version import __version__
from nodewise.cli.app import app
from nodewise.errors import NodewiseError, RunError
from nodewise.experiments import collect
from nodewise.experiments.runner import Job
from tests.report.made_up import put_run

GOOD = {"interrupted": False, "seconds": 600.0, "test_accuracy": 0.8}
Ended = Iterator[tuple[Job, dict[str, Any] | NodewiseError]]


def reproduce(folder: Path, runs: int, *more: str) -> Result:
    command = ["reproduce", "main", "-d", "cora", "-m", "GCN", "--runs", str(runs)]
    return CliRunner().invoke(app, [*command, "--workers", "2", "--out", str(folder), *more])


def test_a_suite_reports_the_time_it_needs_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_run(tmp_path, "GCN", 0, 0.8, seconds=600.0)

    def made(results: Path, left: Sequence[Job], workers: int) -> Ended:
        yield from ((one, GOOD) for one in left)

    monkeypatch.setattr(collect, "run_and_record", made)
    result = reproduce(tmp_path, 3)
    assert result.exit_code == 0, result.output
    assert "1 runs done, 2 left, about 10 min to go" in result.output
    assert "1 of 2, about 10 min to go: cora GCN official seed 1" in result.output
    assert "2 of 2: cora GCN official seed 2" in result.output


def test_a_plan_has_a_line_for_every_cell_and_trains_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_run(tmp_path, "GCN", 0, 0.8, seconds=600.0)
    monkeypatch.delattr(collect, "run_and_record")
    result = reproduce(tmp_path, 4, "-m", "LGCN", "--plan", "--json")
    assert result.exit_code == 0, result.output
    *_, gcn, lgcn, headline, versions, last = result.output.splitlines()
    assert gcn.split() == ["cora", "GCN", "official", "1", "3", "15", "min"]
    assert lgcn.split() == ["cora", "LGCN", "official", "0", "4", "20", "min"]
    assert "nodewise 0.0.0" in versions
    assert headline.endswith("1 runs done, 7 left, about 35 min to go")
    plan = {"suite": "main", "runs": 8, "left": 7, "seconds": 4200.0, "out": str(tmp_path)}
    assert json.loads(last) == plan


@pytest.mark.parametrize("plan", [True, False])
def test_records_of_other_versions_are_reported_before_a_suite_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: bool
) -> None:
    monkeypatch.setattr(collect, "run_and_record", lambda results, left, workers: iter(()))
    for version, is_reported in ((__version__, False), ("0.0.1", True)):
        put_run(tmp_path, "GCN", 0, 0.8, begun_with=version)
        result = reproduce(tmp_path, 2, *(["--plan"] if plan else []))
        assert result.exit_code == 0, result.output
        assert ("made with nodewise 0.0.1; this is" in result.output) == is_reported


def test_a_plan_of_what_has_never_run_knows_no_time(tmp_path: Path) -> None:
    result = reproduce(tmp_path / "new", 2, "--plan")
    assert result.output.splitlines()[-1].endswith("0 runs done, 2 left")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("suite", ["cost", "tsne"])
def test_what_has_no_rows_has_no_plan(suite: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["reproduce", suite, "--plan", "--out", str(tmp_path)])
    assert result.exit_code != 0 and f"{suite} has no rows of runs" in str(result.exception)


def pressed_here(results: Path, left: Sequence[Job], workers: int) -> Ended:
    yield left[0], GOOD
    raise KeyboardInterrupt


def pressed_there(results: Path, left: Sequence[Job], workers: int) -> Ended:
    yield left[0], GOOD
    yield left[1], {**GOOD, "interrupted": True}


@pytest.mark.parametrize("made", [pressed_here, pressed_there])
def test_ctrl_c_is_answered_in_one_line(
    made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "run_and_record", made)
    result = reproduce(tmp_path, 2)
    assert result.exit_code == 130
    assert result.stderr.endswith("nodewise: stopped and saved; run the same command to continue\n")


def test_a_failed_run_is_reported_word_by_word_and_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "failed ([enforce fail at alloc.cpp:1] no memory, " + "see [/data/x] " * 9 + ")"

    def made(results: Path, left: Sequence[Job], workers: int) -> Ended:
        yield left[0], RunError("runs/seed-0", reason, way_out="try again")
        yield left[1], GOOD

    monkeypatch.setattr(collect, "run_and_record", made)
    result = reproduce(tmp_path, 2)
    assert result.exit_code == 1
    assert f"cora, GCN, seed 0: runs/seed-0: {reason}" in result.output
    assert "1 of 2" in result.output and "nodewise: 1 failed" in result.output


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = reproduce(tmp_path / "file" / "x", 1)
    assert result.exit_code != 0 and "cannot be written" in str(result.exception)
