from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import pytest
from typer.testing import CliRunner

from nodewise.cli.app import app
from nodewise.errors import DivergedError, NodewiseError, RunError
from nodewise.experiments.runner import Job
from nodewise.experiments.search import search as searching
from nodewise.experiments.search.search import (
    Search,
    ended_trials,
    open_study,
    propose,
    run_search,
    search_space,
)
from nodewise.models.zoo import ZOO
from nodewise.runs.sources import dataset_source
from nodewise.training.recipe import check_settings, known_keys

pytest.importorskip("optuna", reason="optuna is not installed")


@pytest.mark.parametrize("model", ZOO)
def test_spaces_hold_values_that_recipes_take(model: str) -> None:
    for key, values in search_space(model, {}).items():
        assert key in known_keys()
        ends = values if isinstance(values, list) else [values["low"], values["high"]]
        for value in ends:
            check_settings({key: value}, "space")


def test_what_is_fixed_is_not_searched() -> None:
    assert "hidden_channels" not in search_space("GCN", {"hidden_channels": 8})


def run(folder: Path, trials: int) -> dict[str, Any]:
    options = ["--trials", trials, "--set", "epochs=6", "--set", "hidden_channels=4"]
    command = ["search", "toy", "-m", "GCN", *options, "--out", folder, "--json", "--workers", 1]
    result = CliRunner().invoke(app, [str(word) for word in command])
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout.splitlines()[-1]))


def test_a_search_goes_on_and_gives_the_best_by_validation(tmp_path: Path) -> None:
    first = run(tmp_path, 2)
    assert first["trials"] == 2
    found = run(tmp_path, 4)
    assert found["trials"] == 4
    records = [json.loads(path.read_text()) for path in tmp_path.glob("trials/*/*/result.json")]
    assert len(records) == 4
    assert found["val_accuracy"] == max(record["val_accuracy"] for record in records)
    # Several trials may be as good; optuna takes one of them.
    best = [r["settings"] for r in records if r["val_accuracy"] == found["val_accuracy"]]
    assert [found["settings"].items() <= settings.items() for settings in best].count(True) == 1


LONG = {"epochs": 600, "patience": 600, "hidden_channels": 4, "num_layers": 1}


def interrupt_once(path: Path) -> None:
    while not path.exists():
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.slow
def test_ctrl_c_saves_and_going_on_neither_repeats_nor_loses_a_trial(tmp_path: Path) -> None:
    search = Search(
        Job(dataset_source("toy"), "GCN", 0, tmp_path / "search", settings=LONG), runs=2
    )
    trials = tmp_path / "search" / "trials"
    history = trials / "0" / "seed-0" / "history.jsonl"
    threading.Thread(target=interrupt_once, args=(history,), daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        list(run_search(search, 2))
    # The second run waits for the first; it must not be trained to its end, either.
    assert not list(trials.glob("*/*/result.json"))
    *_, study = run_search(search, 2)
    assert ended_trials(study) == len(study.trials) == 2
    assert study.trials[0].params != study.trials[1].params
    assert len(list(trials.glob("*/*/result.json"))) == 4


class Failing:
    """Workers whose runs all end with the same error."""

    error: NodewiseError = RunError("trials/0", "failed (out of memory)", way_out="try again")

    def __init__(self, count: int) -> None: ...
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...
    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, NodewiseError]]:
        yield from ((job, self.error) for job in jobs)


def test_a_trial_that_cannot_be_trained_is_reported_and_not_tried_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = Search(Job(dataset_source("toy"), "GCN", 0, tmp_path / "search", settings=LONG))
    monkeypatch.setattr(searching, "Workers", Failing)
    for ended in (1, 2):
        with pytest.raises(RunError, match="out of memory"):
            list(run_search(search, 2))
        assert ended_trials(open_study(tmp_path / "search", 0)) == ended
    list(run_search(search, 2))  # nothing is left to try


def test_where_every_trial_fails_more_time_is_not_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "Workers", Failing)
    monkeypatch.setattr(Failing, "error", DivergedError("the loss is not finite"))
    command = ["search", "toy", "-m", "GCN", "--trials", "2", "--out", str(tmp_path / "search")]
    result = CliRunner().invoke(app, command)
    assert "every trial failed" in str(result.exception)


def test_no_more_trials_than_asked_for_though_more_fit_side_by_side(tmp_path: Path) -> None:
    job = Job(
        dataset_source("toy"), "GCN", 0, tmp_path, settings={"epochs": 2, "hidden_channels": 4}
    )
    *_, study = run_search(Search(job, workers=2), 1)
    assert len(study.trials) == 1


def test_a_study_that_goes_on_proposes_something_new(tmp_path: Path) -> None:
    space = search_space("GCN", {})
    proposed = []
    for _ in range(3):
        study = open_study(tmp_path, seed=0)
        trial = study.ask()
        proposed.append(propose(trial, space))
        study.tell(trial, 0.5)
    assert proposed[0] != proposed[1] != proposed[2] != proposed[0]


class Killed(BaseException):
    """Instead of SIGKILL."""


class Scoring(Failing):
    """Workers whose runs end at once, with a score that depends on the settings."""

    def run(self, jobs: Sequence[Job]) -> Iterator[Any]:
        for job in jobs:
            score = float(job.settings["learning_rate"]) % 0.01
            yield job, {"interrupted": False, "val_accuracy": score, "settings": {}}


def trials_of(search: Search, count: int) -> list[tuple[dict[str, Any], float | None]]:
    *_, study = run_search(search, count)
    return [(trial.params, trial.value) for trial in study.get_trials()]


def test_wherever_a_search_is_killed_it_goes_on_as_if_it_had_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from optuna.storages.journal import JournalFileBackend

    monkeypatch.setattr(searching, "Workers", Scoring)
    write = JournalFileBackend.append_logs
    job = Job(dataset_source("toy"), "GCN", 0, tmp_path / "whole", settings=LONG)
    whole = trials_of(Search(job, workers=2), 5)
    written = len((tmp_path / "whole" / "study.log").read_bytes().splitlines())
    assert len({str(params) for params, _ in whole}) == 5

    for last in range(1, written, 3):
        folder = tmp_path / str(last)
        left = last

        def write_and_die(self: Any, logs: list[dict[str, Any]], folder: Path = folder) -> None:
            nonlocal left
            left -= 1
            write(self, logs)
            if left == 0:
                with (folder / "study.log").open("ab") as stream:
                    stream.write(b'{"op_code":5,"wor')
                os.symlink("study.log", folder / "study.log.lock")
                raise Killed

        monkeypatch.setattr(JournalFileBackend, "append_logs", write_and_die)
        search = Search(Job(dataset_source("toy"), "GCN", 0, folder, settings=LONG), workers=2)
        with pytest.raises(Killed):
            trials_of(search, 5)
        monkeypatch.setattr(JournalFileBackend, "append_logs", write)
        assert trials_of(search, 5) == whole


def test_a_study_with_another_score_than_its_runs_is_refused(tmp_path: Path) -> None:
    run(tmp_path, 1)
    log = tmp_path / "study.log"
    content = log.read_text()
    score = json.loads(next(tmp_path.glob("trials/0/*/result.json")).read_text())["val_accuracy"]
    for old, new in ((f"[{score}]", "[0.99]"), ('"param_name"', '"param_nbme"')):
        assert old in content
        log.write_text(content.replace(old, new))
        job = Job(dataset_source("toy"), "GCN", 0, tmp_path)
        with pytest.raises(RunError, match=r"study\.log"):
            searching._check_trials(open_study(tmp_path, 0), Search(job))
