"""A candidate's run, which can be paused, and the epochs of several of them, counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from nodewise.errors import DivergedError
from nodewise.runs.folder import CONFIG, RunFolder, check_config
from nodewise.runs.run import Task, Watch, train_in
from nodewise.training.early_stopping import Best
from nodewise.training.loop import Epoch
from nodewise.training.recipe import Recipe

# A task from a model's name and a recipe: the graph is the caller's.
MakeTask = Callable[[str, Recipe], Task]
# Called with the name of what is trained, the epochs done, and their total.
Show = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Trial:
    """A run that can be paused.

    Attributes:
        name: Its name.
        model: A name of the zoo.
        recipe: How to build and train it.
        seed: The run's seed.
        folder: Its folder.
        make: Returns its task.
    """

    name: str
    model: str
    recipe: Recipe
    seed: int
    folder: Path
    make: MakeTask = field(repr=False)

    @cached_property
    def identity(self) -> tuple[Any, ...]:
        """Equal for runs that would be the same: model, settings and seed."""
        return (self.model, tuple(sorted(self.recipe.settings.items())), self.seed)

    @property
    def epochs(self) -> int:
        """The epochs it is trained for at most."""
        return self.recipe.stopping.epochs

    @property
    def result(self) -> dict[str, Any] | None:
        """The record; None before the end."""
        return RunFolder(self.folder).result

    def task(self) -> Task:
        """Its task; a new one, so that its prepared features do not stay in memory."""
        return self.make(self.model, self.recipe)

    def train(self, epochs: int, watch: Watch) -> None:
        """Train until so many epochs are done, or to the end, from the last checkpoint on.

        Raises:
            KeyboardInterrupt: The watch stopped it; everything is saved.
            RunError: The folder holds another run.
            DivergedError: The loss became infinite or undefined.
        """
        task = self.task()
        if self._has(epochs, task):
            return
        pause = _Pause(epochs if epochs < self.epochs else None, watch)
        record = train_in(self.folder, task, self.seed, Watch(pause.epoch, pause.stop))
        if record["interrupted"] and pause.by_watch:
            raise KeyboardInterrupt

    def _has(self, epochs: int, task: Task) -> bool:
        run = RunFolder(self.folder)
        if not (self.folder / CONFIG).exists():
            return False
        check_config(run, task.config(self.seed))
        return run.result is not None or epochs <= min(len(run.history), self.epochs - 1)

    def best(self, epochs: int | None = None) -> Best:
        """The best epoch on the validation nodes, of the first epochs or of all."""
        best = Best()
        for line in _validated(RunFolder(self.folder).history[:epochs]):
            best = self.recipe.stopping.update(
                best, line["epoch"], line["val_accuracy"], line["val_loss"]
            )
        return best

    def spent(self) -> tuple[int, float]:
        """Epochs and seconds so far."""
        result = self.result
        if result is not None:
            return int(result["epochs"]), float(result["seconds"])
        checkpoint = RunFolder(self.folder).load() if self.folder.exists() else None
        about = {"epoch": 0, "seconds": 0.0} if checkpoint is None else checkpoint[1]
        return int(about["epoch"]), float(about["seconds"])


class _Pause:
    """Stops a run after some epochs, or earlier if its watch does."""

    def __init__(self, after: int | None, watch: Watch) -> None:
        self._after, self._watch, self._done = after, watch, 0
        self.by_watch = False

    def epoch(self, line: Epoch) -> None:
        self._done = int(line["epoch"]) + 1
        self._watch.epoch(line)

    def stop(self) -> bool:
        self.by_watch = self._watch.stop()
        return self.by_watch or (self._after is not None and self._done >= self._after)


def _validated(history: Iterable[Epoch]) -> Iterable[Epoch]:
    return (line for line in history if "val_accuracy" in line)


class EpochCounter:
    """Trains several runs and counts their epochs.

    Args:
        total: The epochs of all runs, as far as known.
        show: Called after every epoch with the name of the run, the epochs done, and their total.
        stop: Called after every epoch; true saves and stops.
    """

    def __init__(self, total: int, show: Show, stop: Callable[[], bool]) -> None:
        self.total, self._show, self._stop, self._done = total, show, stop, 0

    def train(self, trial: Trial, name: str, begin: int, end: int) -> bool:
        """Train a run from one epoch to another; returns whether it did not diverge."""
        before = self._done - begin
        self.total = max(self.total, before + end)
        self._show(name, self._done, self.total)

        def note(line: Epoch) -> None:
            self._show(name, before + int(line["epoch"]) + 1, self.total)

        try:
            trial.train(end, Watch(note, self._stop))
        except DivergedError:
            return False
        finally:
            self._done += end - begin  # also if it stopped early
        return True
