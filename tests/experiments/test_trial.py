from __future__ import annotations

from pathlib import Path

import pytest

from nodewise.errors import RunError
from nodewise.experiments.trial import Trial
from nodewise.runs.folder import RunFolder
from nodewise.runs.run import Task, Watch
from nodewise.training.recipe import Recipe, load_recipe
from tests.training.tasks import small_task

SETTINGS = {"epochs": 12, "hidden_channels": 4, "keep": "loss"}


def make(model: str, recipe: Recipe) -> Task:
    task = small_task(model)
    return Task(task.data, task.split, {}, model, recipe)


def trial(folder: Path, seed: int = 0) -> Trial:
    return Trial("one", "LGCN", load_recipe("nodewise", "LGCN", None, SETTINGS), seed, folder, make)


def test_a_pause_changes_no_bit(tmp_path: Path) -> None:
    paused, whole = trial(tmp_path / "paused"), trial(tmp_path / "whole")
    paused.train(5, Watch())
    assert paused.result is None and paused.spent()[0] == 5
    for one in (paused, whole):
        one.train(12, Watch())
    assert paused.result is not None and whole.result is not None
    assert paused.result["logits_sha256"] == whole.result["logits_sha256"]
    assert paused.best() == whole.best()


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    seen: list[int] = []
    watch = Watch(lambda line: seen.append(line["epoch"]))
    for epochs, done in ((5, 5), (5, 5), (3, 5), (12, 12), (12, 12), (5, 12)):
        trial(tmp_path).train(epochs, watch)
        assert seen == list(range(done))


def test_its_best_is_that_of_the_first_epochs_if_those_are_asked_for(tmp_path: Path) -> None:
    one = trial(tmp_path)
    one.train(12, Watch())
    first = RunFolder(tmp_path).history[0]
    assert (one.best(1).epoch, one.best(1).epoch_loss) == (0, first["val_loss"])
    assert one.result is not None
    assert one.best().epoch == one.result["best_epoch"] > 0


def test_who_asks_to_stop_is_heard_and_training_goes_on_from_there(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        trial(tmp_path).train(12, Watch(stop=lambda: True))
    assert trial(tmp_path).spent()[0] == 1
    seen: list[int] = []
    trial(tmp_path).train(3, Watch(lambda line: seen.append(line["epoch"])))
    assert seen == [1, 2]


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    trial(tmp_path).train(5, Watch())
    with pytest.raises(RunError, match="seed"):
        trial(tmp_path, seed=1).train(5, Watch())
