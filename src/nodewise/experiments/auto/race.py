"""Trains several trials within a budget of time: in this process, or side by side in others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Self

from nodewise.errors import InputError, NodewiseError
from nodewise.experiments.auto.clock import Clock
from nodewise.experiments.auto.trial import Part, Trial, TrialJob
from nodewise.experiments.runner import Workers
from nodewise.randomness import seeded_randomness
from nodewise.runs.progress import Show
from nodewise.runs.run import Callbacks
from nodewise.training.loop import Epoch

DIVERGED, UNTRIED = "diverged", "not tried"


@dataclass
class Race:
    """Trains trials, and records their outcomes.

    Attributes:
        clock: The time that may be used.
        workers: How many trials are trained side by side; with one, in this process.
        show: Called after every epoch here, and after every trial elsewhere.
        stop: Asked after every epoch; true saves and stops.
        trials: All trials, first to last.
        outcomes: Why a trial was left out, by its name.
    """

    clock: Clock
    workers: int = 1
    show: Show = lambda what, used, budget: None
    stop: Callable[[], bool] = lambda: False
    trials: list[Trial] = field(default_factory=list)
    outcomes: dict[str, str] = field(default_factory=dict)
    _controls: list[Trial] = field(default_factory=list)
    _exits: ExitStack = field(default_factory=ExitStack)
    _pool: Workers | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    def accept(self, trials: Sequence[Trial]) -> list[Trial]:
        """The new ones among some trials whose model accepts the graph.

        Raises:
            InputError: No trial at all can be trained.
        """
        accepted = []
        for trial in trials:
            if trial.identity in {known.identity for known in self.trials}:
                continue
            self.trials.append(trial)
            try:
                with seeded_randomness(trial.seed):
                    trial.task().fresh_model()
            except InputError as error:
                self.outcomes[trial.name] = str(error)
                if len(self.outcomes) == len(self.trials) == len(trials):
                    raise
            else:
                accepted.append(trial)
        return accepted

    def train_controls(self, trials: Sequence[Trial], share: float) -> None:
        """Train controls, which need not be trained at all if the time is short."""
        self._controls += trials
        self.train("control", trials, 1, share)

    def train(self, what: str, trials: Sequence[Trial], epochs: int, share: float) -> list[Trial]:
        """Train trials until so many epochs are done or a share of the budget is used.

        Each may use an equal part of the time that is left, and what others did not use. The first
        one is trained for an epoch at least, however short the time, unless it is a control.

        Args:
            what: The stage, for the progress line.
            trials: The trials, cheap ones first.
            epochs: The epochs, counted from the start of each.
            share: The share of the budget.

        Returns:
            Those that have been validated and did not diverge.

        Raises:
            KeyboardInterrupt: `stop` was true; everything is saved.
            RunError: A folder holds another run, or another process works in it.
        """
        train = self._train_here if self.workers == 1 else self._train_in_processes
        for trial, diverged in train(what, trials, epochs, share):
            if diverged:
                self.outcomes[trial.name] = DIVERGED
        validated = self.validated(trials)
        for trial in trials:
            if trial not in validated:
                self.outcomes.setdefault(trial.name, f"{UNTRIED}: {self.clock.over}")
        return validated

    def validated(self, trials: Iterable[Trial]) -> list[Trial]:
        """Those that have been validated and did not diverge."""
        return [
            trial
            for trial in trials
            if self.outcomes.get(trial.name) != DIVERGED and trial.best().epoch >= 0
        ]

    def _jobs(self, trials: Sequence[Trial], epochs: int, share: float) -> list[TrialJob]:
        """A part of each trial; none if the time is over and none of them must be trained.

        A part's share is counted when it begins, so that it has what earlier ones did not use.
        """
        must, left = self._must_train(trials), self.clock.left(share)
        if left <= 0 and not must:
            return []
        until, jobs, timer = self.clock.timer() + left, [], self.clock.timer
        for i, trial in enumerate(trials):
            count = len(trials) - i
            part = Part(epochs, until, min(self.workers, count) / count, must and i == 0, timer)
            jobs.append(TrialJob(trial, part))
        return jobs

    def _train_here(
        self, what: str, trials: Sequence[Trial], epochs: int, share: float
    ) -> Iterator[tuple[Trial, bool]]:
        for i, job in enumerate(self._jobs(trials, epochs, share)):
            if self.clock.enough() and not job.part.is_needed:
                return
            name = f"{what} {i + 1} of {len(trials)}: {job.trial.name}"
            callbacks = Callbacks(self._shower(name), self.stop, self.clock.enough)
            yield job.trial, "diverged" in job.run_here(callbacks)

    def _shower(self, name: str) -> Callable[[Epoch], None]:
        clock, began, count = self.clock, self.clock.used, 0
        self.show(name, began, clock.budget)

        def show(line: Epoch) -> None:
            nonlocal count
            count += 1
            rate = count / max(clock.used - began, 1e-9)
            speed = f"{rate:.0f} epochs/s" if rate >= 2 else f"{1 / rate:.1f} s an epoch"
            self.show(f"{name}, epoch {line['epoch'] + 1}, {speed}", clock.used, clock.budget)

        return show

    def _train_in_processes(
        self, what: str, trials: Sequence[Trial], epochs: int, share: float
    ) -> Iterator[tuple[Trial, bool]]:
        jobs = self._jobs(trials, epochs, share)
        if not jobs:
            return
        if self._pool is None:
            self._pool = self._exits.enter_context(Workers(self.workers))
        self.show(f"{what}: {len(jobs)} side by side", self.clock.used, self.clock.budget)
        for done, (job, answer) in enumerate(self._pool.run(jobs, self.stop), 1):
            if isinstance(answer, NodewiseError):
                raise answer
            if self.stop() or answer.get("interrupted"):
                raise KeyboardInterrupt
            text = f"{what} {done} of {len(jobs)}: {job.trial.name}"
            self.show(text, self.clock.used, self.clock.budget)
            yield job.trial, "diverged" in answer

    def _must_train(self, trials: Sequence[Trial]) -> bool:
        """Whether one of these must be trained: without any there is nothing to choose from."""
        candidates = [trial for trial in self.trials if trial not in self._controls]
        return bool(trials) and trials[0] in candidates and not self.validated(candidates)
