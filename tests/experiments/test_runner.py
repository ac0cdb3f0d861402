from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodewise.errors import RunError
from nodewise.experiments.runner import Job, Workers, _outcome, run_all
from nodewise.runs import sources
from nodewise.runs.folder import RunFolder
from nodewise.runs.sources import dataset_source

QUICK = {"epochs": 8, "hidden_channels": 4}


def jobs(folder: Path) -> list[Job]:
    return [
        Job(dataset_source("toy", "random", seed), "GCN", seed, folder / str(seed), settings=QUICK)
        for seed in range(3)
    ]


def test_side_by_side_gives_the_records_of_one_after_the_other(tmp_path: Path) -> None:
    found = {job.seed: record for job, record in run_all(jobs(tmp_path / "two"), workers=2)}
    assert sorted(found) == [0, 1, 2]
    for job in jobs(tmp_path / "one"):
        record = job.run()
        assert record["logits_sha256"] == found[job.seed]["logits_sha256"]
        assert RunFolder(tmp_path / "two" / str(job.seed)).result == found[job.seed]


def test_jobs_that_are_stopped_save_and_no_others_begin(tmp_path: Path) -> None:
    endless = {"epochs": 10**6, "patience": 10**6}
    waiting = [replace(job, settings=endless) for job in jobs(tmp_path)]
    history = waiting[0].folder / "history.jsonl"
    with Workers(1) as pool:
        found = [record for _, record in pool.run(waiting, stop=history.exists)]
    assert [record["interrupted"] for record in found] == [True] * 3
    assert waiting[0].folder.joinpath("checkpoint").exists()


def test_a_job_that_fails_is_reported_and_is_not_the_end() -> None:
    failed: Future[dict[str, Any]] = Future()
    failed.set_exception(ValueError("no such thing"))
    error = _outcome(failed, Path("runs/seed-7"))
    assert isinstance(error, RunError)
    assert str(error).startswith("runs/seed-7: failed (ValueError: no such thing)")
    killed: Future[dict[str, Any]] = Future()
    killed.set_exception(BrokenProcessPool())
    with pytest.raises(RunError, match="fewer workers"):
        _outcome(killed, Path("runs/seed-7"))


def test_finished_jobs_are_only_read(tmp_path: Path) -> None:
    first = [record for _, record in run_all(jobs(tmp_path), workers=1)]
    again = [record for _, record in run_all(jobs(tmp_path), workers=1)]
    assert sorted(r["seconds"] for r in first) == sorted(r["seconds"] for r in again)


def start_forever(folder: Path) -> subprocess.Popen[bytes]:
    """Three jobs without an end for one worker, in a session of their own; back once it learns."""
    settings = {"epochs": 10**6, "patience": 10**6}
    source, folders = dataset_source("toy", "random"), [folder / str(i) for i in range(3)]
    endless = [Job(source, "GCN", 0, one, settings=settings) for one in folders]
    command = [sys.executable, "-c", FOREVER, repr(endless)]
    parent = subprocess.Popen(command, start_new_session=True)
    history = folders[0] / "history.jsonl"
    assert soon(lambda: history.exists() and history.stat().st_size > 0)
    return parent


@pytest.mark.slow
def test_workers_end_with_a_killed_parent_and_save(tmp_path: Path) -> None:
    parent = start_forever(tmp_path)
    parent.kill()
    parent.wait()
    assert soon(lambda: not alive(parent.pid))
    assert (tmp_path / "0" / "checkpoint").exists()
    assert RunFolder(tmp_path / "0").result is None


@pytest.mark.slow
def test_workers_end_when_all_processes_are_asked_to(tmp_path: Path) -> None:
    parent = start_forever(tmp_path)
    os.killpg(parent.pid, signal.SIGTERM)
    parent.wait()
    assert soon(lambda: not alive(parent.pid), seconds=30)


FOREVER = """
import sys
from pathlib import *
from nodewise.experiments.runner import Job, run_all
if __name__ == "__main__":
    list(run_all(eval(sys.argv[1]), workers=1))
"""


def soon(happens: Callable[[], bool], seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while not happens() and time.monotonic() < end:
        time.sleep(0.05)
    return happens()


def alive(group: int) -> bool:
    """Whether any process of a group is there, but for those that only wait to be forgotten."""
    listed = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return any(int(of) == group and not state.startswith("Z") for of, state in rows)


def test_not_every_split_that_was_ever_used_stays_in_memory(tmp_path: Path) -> None:
    for seed in range(12):
        Job(dataset_source("toy", "random", seed), "GCN", seed, tmp_path).load()
    assert sources._shared.cache_info().currsize <= 8
