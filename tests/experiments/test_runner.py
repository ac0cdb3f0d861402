from __future__ import annotations

from pathlib import Path

from nodewise.experiments.runner import Job, run_all
from nodewise.training.run_folder import RunFolder

QUICK = {"epochs": 8, "hidden_channels": 4}


def jobs(folder: Path) -> list[Job]:
    return [
        Job("toy", "GCN", seed, folder / str(seed), settings=QUICK, split="random", split_seed=seed)
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
