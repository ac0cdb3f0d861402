"""`--recipe auto`: a recipe chosen on validation nodes; test nodes are not used.

All candidates are trained for a first round, the best of them to their end (successive halving).
Then the counterpart of the best is trained, localization switched the other way, to compare both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from nodewise.errors import DivergedError, InputError
from nodewise.experiments.candidates import CandidateSet
from nodewise.experiments.selection_result import CHOICE, SelectionResult
from nodewise.experiments.trial import EpochCounter, MakeTask, Show, Trial
from nodewise.io import write_json
from nodewise.models.zoo import counterpart
from nodewise.randomness import seeded_randomness
from nodewise.runs.copy import check_target, copy_run

_LEFT, _ENDED, _DIVERGED = "left after the first round", "trained to the end", "diverged"


@dataclass(frozen=True)
class Selection:
    """A recipe to be chosen: for which graph, and from which candidates.

    Attributes:
        folder: Where `choice.json` goes, and the candidates' runs, in `candidates`.
        make: A task from a model's name and a recipe.
        seed: The seed of all runs.
        dataset: The data set's name, or None for a graph without one.
        fixed: Keys of the recipe that the caller sets.
        candidate_set: The candidates, and how long they are trained.
    """

    folder: Path
    make: MakeTask
    seed: int = 0
    dataset: str | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    candidate_set: CandidateSet = field(default_factory=CandidateSet.load)

    def trials(self) -> list[Trial]:
        """The candidates' runs; of two that the fixed keys make equal, the first."""
        found: dict[tuple[Any, ...], Trial] = {}
        for candidate in self.candidate_set.candidates:
            recipe = self.candidate_set.recipe(candidate, self.dataset, self.fixed)
            folder = self.folder / "candidates" / candidate.name
            trial = Trial(candidate.name, candidate.model, recipe, self.seed, folder, self.make)
            found.setdefault(trial.identity, trial)
        return list(found.values())


def choose(
    selection: Selection,
    show: Show = lambda what, done, total: None,
    stop: Callable[[], bool] = lambda: False,
) -> SelectionResult:
    """Choose, and write `choice.json`; what earlier calls have trained is not trained again.

    Args:
        selection: What is to be chosen.
        show: Called after every epoch with the name of the run, the epochs done, and their total.
        stop: Called after every epoch; true saves and stops.

    Raises:
        InputError: No candidate can be trained on this graph.
        KeyboardInterrupt: `stop` was true; the same call continues.
        RunError: A folder holds another run, or another process works in it.
    """
    outcomes: dict[str, str] = {}
    trials, candidate_set = selection.trials(), selection.candidate_set
    usable = list(_usable(trials, outcomes))
    longest = max(trial.epochs for trial in usable)
    first = min(candidate_set.first_round, longest)
    counter = EpochCounter(candidate_set.epochs(len(usable), longest), show, stop)
    left = list(_round(Round("candidate", 0, first, _LEFT), usable, counter, outcomes))
    ranked, ended = _ranked(left, first), list[Trial]()
    while ranked and not ended:  # if all of the best diverge later on, the next best are trained
        best, ranked = ranked[: candidate_set.survivors], ranked[candidate_set.survivors :]
        ended = list(_round(Round("best", first, longest, _ENDED), best, counter, outcomes))
    chosen = _ranked(ended, None)[0]
    outcomes[chosen.name] = "chosen"
    other = _counterpart(chosen, usable)
    if other is not None:
        converged = counter.train(other, f"{other.model}, the counterpart", 0, longest)
        if other in usable:
            outcomes[other.name] = _ENDED if converged else _DIVERGED
    result = SelectionResult(candidate_set, trials, outcomes, chosen, other, counter.total)
    write_json(selection.folder / CHOICE, result.record)
    return result


def choose_into(
    target: Path,
    selection: Selection,
    show: Show = lambda what, done, total: None,
    stop: Callable[[], bool] = lambda: False,
) -> SelectionResult:
    """As `choose`; the chosen run is copied to the folder `target`, which is checked first.

    Raises:
        RunError: The folder holds another run.
    """
    trial = selection.trials()[0]
    check_target(target, trial.task().config(trial.seed))
    result = choose(selection, show, stop)
    copy_run(result.chosen.folder, target)
    return result


class Round(NamedTuple):
    """Some epochs of several runs.

    Attributes:
        name: The name of its runs in progress lines.
        begin: The epoch they start from.
        end: The epoch they are trained to.
        outcome: The outcome of those that are trained in no later round.
    """

    name: str
    begin: int
    end: int
    outcome: str


def _round(
    plan: Round, trials: Sequence[Trial], counter: EpochCounter, outcomes: dict[str, str]
) -> Iterator[Trial]:
    """Train some runs; yields those that did not diverge."""
    for i, trial in enumerate(trials, 1):
        name = f"{plan.name} {i} of {len(trials)}, {trial.name}"
        ended = counter.train(trial, name, plan.begin, plan.end)
        outcomes[trial.name] = plan.outcome if ended else _DIVERGED
        if ended:
            yield trial


def _usable(trials: Sequence[Trial], outcomes: dict[str, str]) -> Iterator[Trial]:
    """Those whose model accepts the graph; why others do not is an outcome, too.

    Raises:
        InputError: None can.
    """
    for trial in trials:
        try:
            with seeded_randomness(trial.seed):
                trial.task().fresh_model()
        except InputError as error:
            outcomes[trial.name] = str(error)
            if len(outcomes) == len(trials):
                raise
        else:
            yield trial


def _ranked(trials: Sequence[Trial], epochs: int | None) -> list[Trial]:
    """Sorted by validation accuracy, then by loss, the best first.

    Raises:
        DivergedError: There is none left.
    """
    if not trials:
        raise DivergedError("every candidate of the recipe 'auto' diverged; look at the features")
    best = {trial.name: trial.best(epochs) for trial in trials}
    figures = {name: (seen.epoch_accuracy, -seen.epoch_loss) for name, seen in best.items()}
    return sorted(trials, key=lambda trial: figures[trial.name], reverse=True)


def _counterpart(chosen: Trial, trials: Sequence[Trial]) -> Trial | None:
    """The chosen run with localization switched the other way; perhaps one of the candidates."""
    model = counterpart(chosen.model)
    if model is None:
        return None
    folder = chosen.folder.with_name(f"{chosen.name}-beside")
    trial = replace(chosen, name=f"{chosen.name}-beside", model=model, folder=folder)
    return next((known for known in trials if known.identity == trial.identity), trial)
