from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest

from nodewise.errors import RunError
from nodewise.experiments.auto.candidates import Candidate
from nodewise.experiments.auto.trial import Part, Trial, TrialJob
from nodewise.runs.folder import RunFolder
from nodewise.runs.run import Callbacks
from nodewise.runs.task import Task
from nodewise.training.recipe import Recipe, load_recipe
from tests.training.tasks import small_task

SETTINGS = {"epochs": 12, "hidden_channels": 4, "keep": "loss"}


def make(model: str, recipe: Recipe) -> Task:
    task = small_task(model)
    return Task(task.data, task.split, {}, model, recipe)


def trial(folder: Path, seed: int = 0) -> Trial:
    recipe = load_recipe("nodewise", "LGCN", None, SETTINGS)
    return Trial(Candidate("one", "LGCN", {}), recipe, seed, folder, make)


def test_a_pause_changes_no_bit(tmp_path: Path) -> None:
    paused, whole = trial(tmp_path / "paused"), trial(tmp_path / "whole")
    paused.train(Part(5), Callbacks())
    assert not paused.is_finished and paused.spent()[0] == 5
    for one in (paused, whole):
        one.train(Part(12), Callbacks())
    results = [RunFolder(one.folder).result or {} for one in (paused, whole)]
    assert results[0]["logits_sha256"] == results[1]["logits_sha256"]
    assert paused.best() == whole.best()


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    seen: list[int] = []
    callbacks = Callbacks(lambda line: seen.append(line["epoch"]))
    for epochs, done in ((5, 5), (5, 5), (3, 5), (12, 12), (12, 12), (5, 12)):
        trial(tmp_path).train(Part(epochs), callbacks)
        assert seen == list(range(done))


def test_its_best_is_that_of_the_first_epochs_if_those_are_asked_for(tmp_path: Path) -> None:
    one = trial(tmp_path)
    one.train(Part(12), Callbacks())
    first = RunFolder(tmp_path).history[0]
    assert (one.best(1).epoch, one.best(1).epoch_loss) == (0, first["val_loss"])
    result = RunFolder(tmp_path).result
    assert result is not None and one.best().epoch == result["best_epoch"] > 0


def test_a_stop_saves_and_training_continues_from_there(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        trial(tmp_path).train(Part(12), Callbacks(stop=lambda: True))
    assert trial(tmp_path).spent()[0] == 1
    seen: list[int] = []
    trial(tmp_path).train(Part(3), Callbacks(lambda line: seen.append(line["epoch"])))
    assert seen == [1, 2]


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    trial(tmp_path).train(Part(5), Callbacks())
    with pytest.raises(RunError, match="seed"):
        trial(tmp_path, seed=1).train(Part(5), Callbacks())


def test_time_ends_a_part_after_one_epoch_at_least(tmp_path: Path) -> None:
    over = perf_counter()
    trial(tmp_path / "needed").train(Part(12, over, is_needed=True), Callbacks())
    assert trial(tmp_path / "needed").spent()[0] == 1
    trial(tmp_path / "late").train(Part(12, over), Callbacks())
    assert not (tmp_path / "late").exists()


def test_a_part_has_its_share_of_the_time_when_it_begins() -> None:
    part = Part(12, perf_counter() + 10.0, share=0.25)
    assert 2.4 < part.seconds <= 2.5


def test_a_part_takes_its_time_from_its_timer(tmp_path: Path) -> None:
    ticks = count()
    part = Part(12, until=100.0, share=0.5, timer=lambda: float(next(ticks)))
    assert part.seconds == 50.0
    ticks = count()
    trial(tmp_path).train(replace(part, until=10.0, share=1.0), Callbacks())
    epochs, seconds = trial(tmp_path).spent()
    assert epochs < 12 and seconds == epochs  # a tick at an epoch's start, the next at its end


def test_a_paused_run_predicts_from_its_best_epoch(tmp_path: Path) -> None:
    one = trial(tmp_path)
    one.train(Part(8), Callbacks())
    y, probabilities = one.on_validation()
    assert float((probabilities.argmax(1) == y).mean()) == one.best().epoch_accuracy
    right = probabilities[range(len(y)), y]
    assert -np.log(right).mean() == pytest.approx(one.best().epoch_loss, rel=1e-4)


def test_a_job_says_whether_the_loss_stayed_finite(tmp_path: Path) -> None:
    assert TrialJob(trial(tmp_path / "fine"), Part(2)).run() == {}
    wild = load_recipe(
        "nodewise", "LGCN", None, {**SETTINGS, "learning_rate": 1e3, "features": "none"}
    )
    diverging = replace(trial(tmp_path / "wild"), recipe=wild)
    assert "not finite" in TrialJob(diverging, Part(12)).run()["diverged"]
