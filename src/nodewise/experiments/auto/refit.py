"""How long a chosen model is trained on training and validation nodes together.

No nodes are left then to choose an epoch, and with more labels another one is the best. So two runs
learn from one half of the validation nodes each, and the other half chooses their epoch; the median
of these two epochs and of the chosen run's is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median_high

from nodewise.experiments.auto.race import Race
from nodewise.experiments.auto.trial import MakeTask, Trial
from nodewise.runs.task import Task
from nodewise.training.recipe import Recipe

_SMALLEST, _LARGEST = 0.05, 0.5  # shares of the budget
_MARGIN = 1.3  # of the time that is kept: stages before may take a little longer than theirs


@dataclass(frozen=True)
class HalfLearned:
    """Makes tasks that learn from one half of the validation nodes and validate on the other.

    Attributes:
        make: Makes the tasks whose split it changes.
        half: Which half is learned, 0 or 1.
    """

    make: MakeTask
    half: int

    def __call__(self, model: str, recipe: Recipe) -> Task:
        """A task with the changed split."""
        task = self.make(model, recipe)
        return replace(task, split=task.split.with_half_learned(self.half))


def halves_of(trial: Trial) -> Iterator[Trial]:
    """The two runs of a trial that learn from half of the validation nodes."""
    for half in (0, 1):
        name = f"{trial.name}, half {half + 1}"
        folder = trial.folder.with_name(f"{trial.folder.name}-half-{half + 1}")
        make = HalfLearned(trial.make, half)
        yield replace(
            trial, candidate=replace(trial.candidate, name=name), folder=folder, make=make
        )


def refit_share(trial: Trial, race: Race) -> float:
    """The share of the budget to keep for a refit; little if even a short one takes too much."""
    for count in (2, 1):
        share = _MARGIN * sum(_seconds(trial, race, count)) / race.clock.budget
        if share <= _LARGEST:
            return max(share, _SMALLEST)
    return _SMALLEST


def refit_epochs(trial: Trial, race: Race) -> int | None:
    """For how many epochs to train on all labels; None where the budget does not leave the time.

    Where it leaves the time for one of the two runs only, the larger of two epochs is taken.
    """
    for count in (2, 1):
        of_halves, of_refit = _seconds(trial, race, count)
        if race.clock.left() >= of_halves + of_refit:
            break
    else:
        return None
    share, halves = 1 - of_refit / race.clock.budget, list(halves_of(trial))[:count]
    ended = race.train("epochs of a refit", halves, trial.epochs, share)
    if len(ended) < count:
        return None
    return median_high(run.best().epoch for run in (trial, *ended)) + 1


def _seconds(trial: Trial, race: Race, count: int) -> tuple[float, float]:
    """How long so many runs on halves will take, and the refit."""
    seconds = trial.spent()[1]
    return seconds * count / min(race.workers, count), seconds
