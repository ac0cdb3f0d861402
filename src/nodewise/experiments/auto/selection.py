"""`--recipe auto`: model and settings chosen on validation nodes; test nodes are not used.

In this order, within a budget of time: controls of scikit-learn; global models, of which the worse
leave after some epochs (successive halving); variations of the best; localized forms of the best.
Localization is chosen only where its gain over the best global model exceeds the standard error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

from nodewise.errors import DivergedError
from nodewise.experiments.auto.candidates import AUTO, Candidate, CandidateSet
from nodewise.experiments.auto.choice import CHOICE, read_choice
from nodewise.experiments.auto.clock import Clock
from nodewise.experiments.auto.race import Race
from nodewise.experiments.auto.refit import refit_epochs, refit_share
from nodewise.experiments.auto.result import SelectionResult
from nodewise.experiments.auto.trial import MakeTask, Trial
from nodewise.io import write_json
from nodewise.runs.copy import check_target, copy_run
from nodewise.runs.folder import CANDIDATES
from nodewise.runs.progress import Show
from nodewise.runs.task import Refit, Task
from nodewise.training.loop import Timer
from nodewise.training.recipe import Recipe

# The share of the budget that is used when a stage ends; localized forms follow.
_SHARES = {"controls": 0.1, "candidates": 0.45, "variations": 0.6, "without graph": 0.63}


def candidate_folder(folder: Path, name: str) -> Path:
    """Where a candidate's or a control's run is, below the folder of a selection."""
    return folder / CANDIDATES / name.replace(", ", "-").replace(" ", "-")


@dataclass(frozen=True)
class Selection:
    """A model and settings to be chosen: for which graph, and from which candidates.

    Attributes:
        folder: Where `choice.json` goes, and the candidates' runs, in `candidates`.
        make: A task from a model's name and a recipe.
        seed: The seed of all runs.
        dataset: The data set's name, or None for a graph without one.
        fixed: Keys of the recipe that the caller sets.
        candidate_set: The candidates, and the order of their training.
        budget: The seconds that all of it may take.
        workers: How many candidates are trained side by side; `make` must then be picklable.
        refit: Whether the chosen model learns from validation nodes too, if there is the time.
        timer: Measures the seconds; processor time makes sense with one worker only.
    """

    folder: Path
    make: MakeTask
    seed: int = 0
    dataset: str | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    candidate_set: CandidateSet = field(default_factory=CandidateSet.load)
    budget: float = 300.0
    workers: int = 1
    refit: bool = True
    timer: Timer = perf_counter

    @property
    def candidates(self) -> Path:
        """The folder of all candidates' and controls' runs."""
        return self.folder / CANDIDATES

    def check_target(self, target: Path) -> None:
        """Check that the folder for the chosen run does not hold another run.

        Raises:
            RunError: It does.
        """
        first = self.trial(self.candidate_set.candidates[0])
        check_target(target, first.task().config(self.seed))

    def trial(self, candidate: Candidate) -> Trial:
        """A candidate's run."""
        recipe = self.candidate_set.recipe(candidate, self.dataset, self.fixed)
        folder = candidate_folder(self.folder, candidate.name)
        return Trial(candidate, recipe, self.seed, folder, self.make)

    def trials(self, candidates: Iterable[Candidate]) -> list[Trial]:
        """The runs of several candidates."""
        return [self.trial(candidate) for candidate in candidates]

    @property
    def asked(self) -> str:
        """A fingerprint of what is asked for: graph, split, candidates, settings, seed, budget."""
        config = self.trial(self.candidate_set.candidates[0]).task().config(self.seed)
        about = [config, dict(self.fixed), asdict(self.candidate_set), self.budget, self.refit]
        return sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()

    def known(self) -> Choice | None:
        """What was chosen before, if the same was asked for, and choosing was not stopped."""
        record = read_choice(self.folder)
        if record is None or record.get("asked") != self.asked or record.get("stopped"):
            return None
        candidate = Candidate(record["chosen"], record["model"], {})
        recipe = Recipe.from_settings(AUTO, record["settings"])
        return Choice(record, replace(self.trial(candidate), recipe=recipe))

    @property
    def controls(self) -> list[Trial]:
        """The controls, trained as their recipe says."""
        return self.trials(Candidate(name, name, {}) for name in self.candidate_set.controls)

    @property
    def spent(self) -> float:
        """The seconds that earlier sessions have trained for."""
        folders = sorted(self.candidates.glob("*/"))
        any_recipe = self.trial(self.candidate_set.candidates[0])
        seconds = [replace(any_recipe, folder=folder).spent()[1] for folder in folders]
        return sum(seconds) / self.workers


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Attributes:
        record: The content of `choice.json`.
        trial: The chosen run, perhaps not trained to its end.
    """

    record: dict[str, Any]
    trial: Trial

    @property
    def refit(self) -> Refit | None:
        """How its model learns from validation nodes too; None if it does not."""
        epochs = self.record["refit_epochs"]
        if epochs is None:
            return None
        return Refit(epochs, self.record["val_scores"], self.record["temperature"])

    def task(self) -> Task:
        """The chosen model's task, on training nodes or on validation nodes too."""
        return replace(self.trial.task(), refit=self.refit)

    def into(self, target: Path) -> Task:
        """The task of the run for `target`; without a refit the chosen run is copied there.

        Raises:
            RunError: The folder holds another run.
        """
        task = self.task()
        if task.refit is None:
            self.trial.finish()
            copy_run(self.trial.folder, target)
        return task


def choose(
    selection: Selection,
    show: Show = lambda what, used, budget: None,
    stop: Callable[[], bool] = lambda: False,
    enough: Callable[[], bool] = lambda: False,
) -> Choice:
    """Choose, and write `choice.json`; what earlier calls have trained is not trained again.

    Args:
        selection: What is to be chosen.
        show: Called after every epoch with what is trained, the seconds used, and the budget.
        stop: Called after every epoch; true saves and stops.
        enough: Called after every epoch; true ends choosing as if the time were over. Other
            processes first end their part.

    Raises:
        DivergedError: No candidate could be trained.
        InputError: No candidate can be trained on this graph.
        KeyboardInterrupt: `stop` was true; the same call continues.
        RunError: A folder holds another run, or another process works in it.
    """
    known = selection.known()
    if known is not None:
        return known
    candidate_set = selection.candidate_set
    clock = Clock(selection.budget, selection.spent, enough, selection.timer)
    with Race(clock, selection.workers, show, stop) as race:
        controls = race.accept(selection.controls)
        race.train_controls(controls, _SHARES["controls"])
        halving = Halving(race, candidate_set.rounds, candidate_set.survivors)
        candidates = race.accept(selection.trials(candidate_set.candidates))
        best = _first(halving.run("candidate", candidates, _SHARES["candidates"]))
        best = _varied(selection, halving, best)
        without_graph = [trial for trial in candidates if not trial.uses_graph]
        race.train("features alone", without_graph, best.epochs, _SHARES["without graph"])
        forms = race.accept(selection.trials(_localized_forms(candidate_set, race)))
        share = 1 - refit_share(best, race) if selection.refit else 1.0
        localized = halving.run("localized form", forms, share)
        result = SelectionResult(
            [trial for trial in race.trials if trial.name not in candidate_set.controls],
            controls,
            race.outcomes,
            best,
            next(iter(localized), None),
            clock.used,
            selection.budget,
            stopped=enough(),
        )
        refit = refit_epochs(result.chosen, race) if selection.refit else None
    calibrated = result.chosen.recipe.optimization.calibration == "temperature"
    temperature = result.chosen.finish()["temperature"] if refit and calibrated else None
    of_refit = {"refit_epochs": refit, "temperature": temperature}
    record = {"asked": selection.asked, **result.record, **of_refit}
    write_json(selection.folder / CHOICE, record)
    return Choice(record, result.chosen)


def choose_into(
    target: Path,
    selection: Selection,
    show: Show = lambda what, used, budget: None,
    stop: Callable[[], bool] = lambda: False,
    enough: Callable[[], bool] = lambda: False,
) -> tuple[Choice, Task]:
    """As `choose`; also the task of the run that goes to `target`, a folder that is checked first.

    Where the model does not learn from validation nodes too, the chosen run is finished at its best
    epoch, and copied there.

    Raises:
        RunError: The folder holds another run.
    """
    selection.check_target(target)
    choice = choose(selection, show, stop, enough)
    return choice, choice.into(target)


@dataclass(frozen=True)
class Halving:
    """Successive halving: after some epochs the worse ones leave.

    Attributes:
        race: Trains the trials.
        rounds: After so many epochs.
        survivors: How many stay after each round.
    """

    race: Race
    rounds: Sequence[int]
    survivors: Sequence[int]

    def run(self, what: str, trials: Sequence[Trial], share: float) -> list[Trial]:
        """Train trials, the best of them to their end.

        Args:
            what: What they are, for the progress line.
            trials: The trials, cheap ones first.
            share: The share of the budget that is used at the end.

        Returns:
            All that were validated and did not diverge; the best of the last round come first.
        """
        if not trials:
            return []
        clock, longest, left = self.race.clock, max(trial.epochs for trial in trials), trials
        began = clock.used / clock.budget
        ends = [epochs for epochs in self.rounds if epochs < longest] + [longest]
        for i, epochs in enumerate(ends):
            until = began + (share - began) * (i + 1) / len(ends)
            ranked = _ranked(self.race.train(what, left, epochs, until), epochs)
            left = ranked if epochs == longest else ranked[: self.survivors[i]]
            for trial in ranked[len(left) :]:
                self.race.outcomes[trial.name] = f"left after {epochs} epochs"
        rest = [trial for trial in self.race.validated(trials) if trial not in left]
        return [*left, *_ranked(rest)]


def _varied(selection: Selection, halving: Halving, best: Trial) -> Trial:
    """The best trial after changes that improve it, as long as there is time."""
    race, share = halving.race, _SHARES["variations"]
    while race.clock.left(share) > 0:
        candidates = selection.candidate_set.varied(best.candidate)
        ended = halving.run("variation", race.accept(selection.trials(candidates)), share)
        if not ended or ended[0].rank_key() <= best.rank_key():
            return best
        best = ended[0]
    return best


def _localized_forms(candidate_set: CandidateSet, race: Race) -> list[Candidate]:
    """The localized forms of the best global candidate that has any."""
    for trial in _ranked(race.validated(race.trials)):
        forms = list(candidate_set.localized(trial.candidate))
        if forms:
            return forms
    return []


def _first(trials: Sequence[Trial]) -> Trial:
    """The first of some trials.

    Raises:
        DivergedError: There is none.
    """
    if not trials:
        raise DivergedError("every candidate of the recipe 'auto' diverged; look at the features")
    return trials[0]


def _ranked(trials: Iterable[Trial], epochs: int | None = None) -> list[Trial]:
    """Sorted by the score on validation nodes, then by loss, the best first."""
    return sorted(trials, key=lambda trial: trial.rank_key(epochs), reverse=True)
