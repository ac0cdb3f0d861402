from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from nodewise.experiments.runner import Job, run_all
from nodewise.training.run_folder import RunFolder
from nodewise.training.task import dataset_source

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


def test_finished_jobs_are_only_read(tmp_path: Path) -> None:
    first = [record for _, record in run_all(jobs(tmp_path), workers=1)]
    again = [record for _, record in run_all(jobs(tmp_path), workers=1)]
    assert sorted(r["seconds"] for r in first) == sorted(r["seconds"] for r in again)


def test_workers_end_with_a_killed_parent_and_save(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    settings = {"epochs": 10**6, "patience": 10**6}
    job = Job(dataset_source("toy", "random"), "GCN", 0, folder, settings=settings)
    parent = subprocess.Popen([sys.executable, "-c", FOREVER, repr(job)], start_new_session=True)
    history = folder / "history.jsonl"
    assert soon(lambda: history.exists() and history.stat().st_size > 0)
    parent.kill()
    parent.wait()
    assert soon(lambda: not alive(parent.pid))
    assert (folder / "checkpoint").exists()
    assert RunFolder(folder).result is None


FOREVER = """
import sys
from pathlib import *
from nodewise.experiments.runner import Job, run_all
if __name__ == "__main__":
    list(run_all([eval(sys.argv[1])], workers=1))
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
