"""A candidate in a folder: trained for a while, perhaps paused, perhaps to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from nodewise.runs.folder import CONFIG, RunFolder, check_config
from nodewise.runs.run import Task, Watch, train_in
from nodewise.training.early_stopping import Best
from nodewise.training.loop import Epoch
from nodewise.training.recipe import Recipe

# A task from a model's name and a recipe: the graph is the caller's.
MakeTask = Callable[[str, Recipe], Task]


@dataclass(frozen=True)
class Trial:
    """A run that can be paused.

    Attributes:
        name: What it is called.
        model: A name of the zoo.
        recipe: How to build and train it.
        seed: The run's seed.
        folder: Where it lies.
        make: Makes its task.
    """

    name: str
    model: str
    recipe: Recipe
    seed: int
    folder: Path
    make: MakeTask = field(repr=False)

    @cached_property
    def identity(self) -> tuple[Any, ...]:
        """What makes it the same run as another."""
        return (self.model, tuple(sorted(self.recipe.settings.items())), self.seed)

    @property
    def epochs(self) -> int:
        """The epochs it may have."""
        return self.recipe.stopping.epochs

    @property
    def result(self) -> dict[str, Any] | None:
        """The record; None before the end."""
        return RunFolder(self.folder).result

    def task(self) -> Task:
        """What it trains; made anew, so that its prepared features do not stay in memory."""
        return self.make(self.model, self.recipe)

    def train(self, epochs: int, watch: Watch) -> None:
        """Train until so many epochs are done, or to the end; what is done is not done again.

        Raises:
            KeyboardInterrupt: The watch asked to stop; everything is saved.
            RunError: The folder holds another run.
            DivergedError: The loss became infinite or undefined.
        """
        task = self.task()
        if self._has(epochs, task):
            return
        pause = _Pause(epochs if epochs < self.epochs else None, watch)
        record = train_in(self.folder, task, self.seed, Watch(pause.epoch, pause.stop))
        if record["interrupted"] and pause.was_asked:
            raise KeyboardInterrupt

    def _has(self, epochs: int, task: Task) -> bool:
        run = RunFolder(self.folder)
        if not (self.folder / CONFIG).exists():
            return False
        check_config(run, task.config(self.seed))
        return run.result is not None or epochs <= min(len(run.history), self.epochs - 1)

    def best(self, epochs: int | None = None) -> Best:
        """What was seen on the validation nodes, in the first epochs or in all."""
        best = Best()
        for line in _seen(RunFolder(self.folder).history[:epochs]):
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
    """Asks a run to stop after some epochs; the watch hears of every epoch, and may ask, too."""

    def __init__(self, after: int | None, watch: Watch) -> None:
        self._after, self._watch, self._done = after, watch, 0
        self.was_asked = False

    def epoch(self, line: Epoch) -> None:
        self._done = int(line["epoch"]) + 1
        self._watch.epoch(line)

    def stop(self) -> bool:
        self.was_asked = self._watch.stop()
        return self.was_asked or (self._after is not None and self._done >= self._after)


def _seen(history: Iterable[Epoch]) -> Iterable[Epoch]:
    return (line for line in history if "val_accuracy" in line)
