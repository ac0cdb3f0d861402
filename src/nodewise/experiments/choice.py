"""`--recipe auto`: a recipe chosen on validation nodes. Test nodes decide nothing here.

All candidates are trained for a while, the best of them to their end (successive halving). Beside
the winner its counterpart is trained, localization switched the other way, to say what it brings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from nodewise.errors import DivergedError, InputError
from nodewise.experiments.candidates import CandidateSet
from nodewise.experiments.choice_record import CHOICE, SelectionResult, record_of
from nodewise.experiments.epoch_counter import EpochCounter, Show
from nodewise.experiments.trial import MakeTask, Trial
from nodewise.io import write_json
from nodewise.models.zoo import counterpart
from nodewise.randomness import seeded_randomness

_LEFT, _ENDED, _DIVERGED = "left after the first round", "trained to the end", "diverged"


@dataclass(frozen=True)
class Selection:
    """What is to be chosen, and for what.

    Attributes:
        folder: Where `choice.json` goes, and the candidates' runs, in `candidates`.
        make: A task from a model's name and a recipe.
        seed: The seed of all runs.
        dataset: The data set's name, or None for a graph without one.
        fixed: Keys of the recipe that are not to be chosen.
        candidate_set: Who takes part, and for how long.
    """

    folder: Path
    make: MakeTask
    seed: int = 0
    dataset: str | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    candidate_set: CandidateSet = field(default_factory=CandidateSet.load)

    def trials(self) -> list[Trial]:
        """The candidates' runs; of two that the fixed keys make the same, the first."""
        found: dict[tuple[Any, ...], Trial] = {}
        for candidate in self.candidate_set.candidates:
            recipe = self.candidate_set.recipe(candidate, self.dataset, self.fixed)
            folder = self.folder / "candidates" / candidate.name
            trial = Trial(candidate.name, candidate.model, recipe, self.seed, folder, self.make)
            found.setdefault(trial.identity, trial)
        return list(found.values())


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Attributes:
        chosen: Its run, finished.
        record: What `choice.json` says: candidates, their validation figures, the comparison.
    """

    chosen: Trial
    record: dict[str, Any]


def choose(
    selection: Selection,
    show: Show = lambda what, done, total: None,
    stop: Callable[[], bool] = lambda: False,
) -> Choice:
    """Choose, and write `choice.json`; what earlier calls have trained is not trained again.

    Args:
        selection: What is to be chosen.
        show: Called after every epoch with what is trained, the epochs done, and all there are.
        stop: Asked after every epoch whether to save and stop.

    Raises:
        InputError: No candidate can be trained on this graph.
        KeyboardInterrupt: `stop` said so; the same call goes on.
        RunError: A folder holds another run, or another process works in it.
    """
    outcomes: dict[str, str] = {}
    trials, candidate_set = selection.trials(), selection.candidate_set
    able = list(_able(trials, outcomes))
    longest = max(trial.epochs for trial in able)
    first = min(candidate_set.first_round, longest)
    counter = EpochCounter(candidate_set.epochs(len(able), longest), show, stop)
    left = list(_round(Round("candidate", 0, first, _LEFT), able, counter, outcomes))
    ranked, ended = _ranked(left, first), list[Trial]()
    while ranked and not ended:  # where the best diverge later on, the next best get their turn
        best, ranked = ranked[: candidate_set.survivors], ranked[candidate_set.survivors :]
        ended = list(_round(Round("best", first, longest, _ENDED), best, counter, outcomes))
    chosen = _ranked(ended, None)[0]
    outcomes[chosen.name] = "chosen"
    beside = _beside(chosen, able)
    if beside is not None:
        came_far = counter.train(beside, f"{beside.model} beside it", 0, longest)
        if beside in able:
            outcomes[beside.name] = _ENDED if came_far else _DIVERGED
    record = record_of(
        SelectionResult(candidate_set, trials, outcomes, chosen, beside, counter.total)
    )
    write_json(selection.folder / CHOICE, record)
    return Choice(chosen, record)


class Round(NamedTuple):
    """Some epochs of several runs.

    Attributes:
        what: What its runs are called.
        begin: The epoch they start from.
        end: The epoch they are trained to.
        outcome: What has become of those that were trained in no later round.
    """

    what: str
    begin: int
    end: int
    outcome: str


def _round(
    plan: Round, trials: Sequence[Trial], counter: EpochCounter, outcomes: dict[str, str]
) -> Iterator[Trial]:
    """Train; gives those that did not diverge."""
    for i, trial in enumerate(trials, 1):
        what = f"{plan.what} {i} of {len(trials)}, {trial.name}"
        ended = counter.train(trial, what, plan.begin, plan.end)
        outcomes[trial.name] = plan.outcome if ended else _DIVERGED
        if ended:
            yield trial


def _able(trials: Sequence[Trial], outcomes: dict[str, str]) -> Iterator[Trial]:
    """Those whose model can use the graph; why others cannot is an outcome, too.

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
    """The best by validation first: by accuracy, then by loss, then as they were.

    Raises:
        DivergedError: There is none left.
    """
    if not trials:
        raise DivergedError("every candidate of the recipe 'auto' diverged; look at the features")
    best = {trial.name: trial.best(epochs) for trial in trials}
    figures = {name: (seen.epoch_accuracy, -seen.epoch_loss) for name, seen in best.items()}
    return sorted(trials, key=lambda trial: figures[trial.name], reverse=True)


def _beside(chosen: Trial, trials: Sequence[Trial]) -> Trial | None:
    """The chosen run with localization switched the other way; perhaps a candidate itself."""
    other = counterpart(chosen.model)
    if other is None:
        return None
    folder = chosen.folder.with_name(f"{chosen.name}-beside")
    trial = replace(chosen, name=f"{chosen.name}-beside", model=other, folder=folder)
    return next((known for known in trials if known.identity == trial.identity), trial)
