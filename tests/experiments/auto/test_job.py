from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from time import process_time, sleep

import pytest

from nodewise.errors import RunError
from nodewise.experiments.auto import selection as module
from nodewise.experiments.auto.candidates import Candidate, CandidateSet
from nodewise.experiments.auto.job import AutoJob
from nodewise.experiments.collect import add_run, collect
from nodewise.experiments.records import cell_runs, missing_runs, read_runs
from nodewise.experiments.run_record import JOB_FIELDS
from nodewise.experiments.suite import Suite, job_of
from nodewise.runs.folder import RESULT

VARIANT = Suite.load("peers").variants[0]
SMALL = CandidateSet(
    "nodewise",
    [2],
    [1],
    {"epochs": 3, "hidden_channels": 4},
    [Candidate("alone", "MLP", {}), Candidate("gcn", "GCN", {})],
    controls=["Logistic"],
)


def select_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `auto` choose from two small models."""
    whole = AutoJob.selection.fget
    assert whole is not None
    small = property(lambda job: replace(whole(job), candidate_set=SMALL))
    monkeypatch.setattr(AutoJob, "selection", small)


def test_its_record_says_what_was_chosen_and_the_scores_before_the_refit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    select_small(monkeypatch)
    job = job_of(tmp_path, "toy", "auto", VARIANT, 0)
    ended = job.run()
    add_run(tmp_path, job)
    (line,) = cell_runs(read_runs(tmp_path), "toy", "auto", VARIANT).lines
    record = line.record
    assert (record["model"], record["recipe"], record["chosen_model"]) == (
        "auto",
        "auto",
        {"alone": "MLP", "gcn": "GCN"}[record["chosen"]],
    )
    assert 1 <= record["refit_epochs"] <= 3 and record["budget"] == 120.0
    assert record["seconds"] == ended["seconds"] > record["choice_seconds"] > 0
    choice = json.loads((job.folder / "choice.json").read_text())
    assert record["val_accuracy"] == choice["val_score"]
    before = json.loads((job.folder / "candidates" / record["chosen"] / RESULT).read_text())
    assert record["unrefit_test_accuracy"] == before["test_accuracy"]
    assert record["unrefit_test_roc_auc"] == before["test_roc_auc"]
    assert {"localization_gain", "localization_gain_se", "better_control"} <= record.keys()
    assert missing_runs(read_runs(tmp_path), [job]) == []
    job.tidy()
    assert not (job.folder / "candidates").exists() and (job.folder / RESULT).exists()
    line.path.unlink()  # the folder has all of the record
    assert collect(tmp_path).new == 1
    assert read_runs(tmp_path).lines[line.key].record == record


def test_its_budget_is_processor_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    select_small(monkeypatch)
    job = job_of(tmp_path, "toy", "auto", VARIANT, 0)
    began, waited = process_time(), 0.0

    def stop() -> bool:
        nonlocal waited
        sleep(0.2)
        waited += 0.2
        return False

    assert job.run(stop)["seconds"] <= process_time() - began
    assert waited > 0.5


def test_a_run_under_another_budget_is_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    select_small(monkeypatch)
    job = job_of(tmp_path, "toy", "auto", VARIANT, 0)
    job.run()
    add_run(tmp_path, job)
    for changed in (
        replace(VARIANT, budget="1m"),
        replace(VARIANT, settings={"metric": "macro_f"}),
    ):
        found = cell_runs(read_runs(tmp_path), "toy", "auto", changed)
        assert not found.lines and len(found.refused) == 1


def test_without_time_to_refit_the_chosen_run_is_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    select_small(monkeypatch)
    monkeypatch.setattr(module, "refit_epochs", lambda *_: None)
    job = job_of(tmp_path, "toy", "auto", VARIANT, 0)
    ended = job.run()
    add_run(tmp_path, job)
    ((_, line),) = read_runs(tmp_path).lines.items()
    record = line.record
    assert "refit_epochs" not in record
    assert record["test_accuracy"] == record["unrefit_test_accuracy"]
    assert record["seconds"] == record["choice_seconds"] == ended["seconds"]


def test_it_stops_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    select_small(monkeypatch)
    job = job_of(tmp_path, "toy", "auto", VARIANT, 0)
    assert job.run(lambda: True)["interrupted"]
    assert not (job.folder / RESULT).exists()
    assert not job.run()["interrupted"]
    assert (job.folder / JOB_FIELDS).exists() and (job.folder / RESULT).exists()


def test_damaged_fields_of_a_job_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    select_small(monkeypatch)
    job = job_of(tmp_path, "toy", "auto", VARIANT, 0)
    job.run()
    (job.folder / JOB_FIELDS).write_text("{")
    with pytest.raises(RunError, match=JOB_FIELDS):
        add_run(tmp_path, job)
