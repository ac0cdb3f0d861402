"""A candidate's run, which can be paused after some epochs or seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.errors import DivergedError
from nodewise.experiments.auto.candidates import Candidate
from nodewise.models.zoo import find_row
from nodewise.runs.folder import CONFIG, RunFolder
from nodewise.runs.open_run import check_config
from nodewise.runs.run import Callbacks, train_in
from nodewise.runs.saved import load_run
from nodewise.runs.task import Task
from nodewise.training.early_stopping import Best, line_score
from nodewise.training.loop import Epoch, Timer
from nodewise.training.recipe import Recipe

# A task from a model's name and a recipe: the graph is the caller's.
MakeTask = Callable[[str, Recipe], Task]


@dataclass(frozen=True)
class Trial:
    """A run that can be paused.

    Attributes:
        candidate: What it trains.
        recipe: How to build and train it.
        seed: The run's seed.
        folder: Its folder.
        make: Returns its task.
    """

    candidate: Candidate
    recipe: Recipe
    seed: int
    folder: Path
    make: MakeTask = field(repr=False)

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self.candidate.name

    @property
    def model(self) -> str:
        """The candidate's model, a name of the zoo."""
        return self.candidate.model

    @cached_property
    def identity(self) -> tuple[Any, ...]:
        """Equal for runs that would be the same: model, settings and seed."""
        return (self.model, tuple(sorted(self.recipe.settings.items())), self.seed)

    @property
    def epochs(self) -> int:
        """The epochs it is trained for at most."""
        return self.recipe.stopping.epochs

    @property
    def is_finished(self) -> bool:
        """Whether it was trained to its end."""
        return RunFolder(self.folder).result is not None

    @property
    def uses_graph(self) -> bool:
        """Whether its model uses any edge."""
        return find_row(self.model).uses_graph or self.recipe.architecture.hops > 0

    def task(self) -> Task:
        """Its task; a new one, so that its prepared features do not stay in memory."""
        return self.make(self.model, self.recipe)

    def train(self, part: Part, callbacks: Callbacks) -> None:
        """Train a part of it, from the last checkpoint on.

        Raises:
            KeyboardInterrupt: `stop` stopped it; everything is saved.
            RunError: The folder holds another run.
            DivergedError: The loss became infinite or undefined.
        """
        task = self.task()
        seconds = part.seconds
        if self._has(part.epochs, task) or (seconds <= 0 and not part.is_needed):
            return
        pause = _Pause(*self._ends(part.epochs, seconds), callbacks, part.timer)
        pausing = Callbacks(pause.epoch, pause.stop, seconds=seconds, timer=part.timer)
        record = train_in(self.folder, task, self.seed, pausing)
        if record["interrupted"] and pause.stopped:
            raise KeyboardInterrupt

    def finish(self) -> dict[str, Any]:
        """Its record, with the weights of its best epoch; it is trained for an epoch at most."""
        return train_in(self.folder, self.task(), self.seed, Callbacks(enough=lambda: True))

    def _ends(self, epochs: int, seconds: float) -> tuple[int, float]:
        """After how many epochs and seconds a part of it is paused: never at the run's end."""
        # A model that is trained at once looks at the clock by itself.
        at_once = find_row(self.model).is_trained_at_once
        return epochs if epochs < self.epochs else 2**62, inf if at_once else seconds

    def _has(self, epochs: int, task: Task) -> bool:
        run = RunFolder(self.folder)
        if not (self.folder / CONFIG).exists():
            return False
        check_config(run, task.config(self.seed))
        return run.result is not None or epochs <= min(len(run.history), self.epochs - 1)

    def best(self, epochs: int | None = None) -> Best:
        """The best epoch on the validation nodes, of the first epochs or of all."""
        best = Best()
        for line in RunFolder(self.folder).history[:epochs]:
            if "val_accuracy" in line:
                rule = self.recipe.stopping
                best = rule.update(best, line["epoch"], line_score(line), line["val_loss"])
        return best

    def rank_key(self, epochs: int | None = None) -> tuple[float, float]:
        """Score and minus loss of the best epoch, of the first epochs or of all."""
        best = self.best(epochs)
        return best.epoch_accuracy, -best.epoch_loss

    def on_validation(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Labels (n,) and probabilities (n, classes) of validation nodes, at the best epoch."""
        task = self.task()
        run = load_run(self.folder, device=str(task.data.y.device))
        nodes = task.split.val
        probabilities = run.logits(task.data).cpu().double().softmax(1).numpy()[nodes]
        return task.data.y.cpu().numpy()[nodes], probabilities

    def spent(self) -> tuple[int, float]:
        """Epochs and seconds so far."""
        run = RunFolder(self.folder)
        about = run.result
        if about is not None:
            return int(about["epochs"]), float(about["seconds"])
        checkpoint = run.load() if self.folder.exists() else None
        about = {"epoch": 0, "seconds": 0.0} if checkpoint is None else checkpoint[1]
        return int(about["epoch"]), float(about["seconds"])


@dataclass(frozen=True)
class Part:
    """A part of a run, which may begin later.

    Attributes:
        epochs: It ends when so many epochs are done.
        until: A moment of the timer.
        share: The share of the time until then that it may use; of what an earlier part leaves, it
            has its share, too.
        is_needed: Whether an epoch is trained even if the time is over.
        timer: Measures time. The processes of a machine share `perf_counter`, and no other.
    """

    epochs: int
    until: float = inf
    share: float = 1.0
    is_needed: bool = False
    timer: Timer = perf_counter

    @property
    def seconds(self) -> float:
        """The seconds that it may take if it begins now; zero or less if the time is over."""
        return self.share * (self.until - self.timer())


class _Pause:
    """Stops a run at the end of a part, or earlier if its callbacks say so."""

    def __init__(self, epochs: int, seconds: float, callbacks: Callbacks, timer: Timer) -> None:
        self._epochs, self._seconds, self._callbacks = epochs, seconds, callbacks
        self._timer = timer
        self._began = self._before = timer()
        # The first epoch is often slower than all others, and says little about them.
        self._done, self._shortest, self._seen = 0, inf, 0
        self.stopped = False

    def epoch(self, line: Epoch) -> None:
        now = self._timer()
        self._done, self._seen = int(line["epoch"]) + 1, self._seen + 1
        self._shortest, self._before = min(self._shortest, now - self._before), now
        self._callbacks.epoch(line)

    def stop(self) -> bool:
        self.stopped = self._callbacks.stop()
        next_one = self._shortest if self._seen > 1 else 0.0
        seconds = self._timer() - self._began + next_one
        ended = self._done >= self._epochs or seconds > self._seconds
        return self.stopped or ended or self._callbacks.enough()


@dataclass(frozen=True)
class TrialJob:
    """A part of a trial's run, for a worker process or for this one.

    Attributes:
        trial: The trial.
        part: The part.
    """

    trial: Trial
    part: Part

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return self.trial.folder

    def run(self, stop: Callable[[], bool] = lambda: False) -> dict[str, Any]:
        """Train; the answer says whether the loss stayed finite."""
        return self.run_here(Callbacks(stop=stop))

    def run_here(self, callbacks: Callbacks) -> dict[str, Any]:
        """As `run`, with all callbacks; where `enough` is true, the part ends."""
        try:
            self.trial.train(self.part, callbacks)
        except DivergedError as error:
            return {"diverged": str(error)}
        return {}
