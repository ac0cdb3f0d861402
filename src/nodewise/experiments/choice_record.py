"""What `choice.json` says: candidates, their validation figures, and what localization brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nodewise.experiments.candidates import Contest
from nodewise.experiments.node_by_node import Comparison, right_on_validation
from nodewise.experiments.trial import Trial
from nodewise.models.zoo import find_row

CHOICE = "choice.json"
_NOTE = (
    "The settings were chosen on these nodes for the chosen model, and taken over by the one "
    "beside it, which favours the chosen one."
)


@dataclass(frozen=True)
class Played:
    """A contest that is over.

    Attributes:
        contest: Who could take part.
        trials: The candidates' runs.
        outcomes: What became of each, by name.
        chosen: The best.
        beside: The same with localization switched the other way, if there is such a model.
        epochs_at_most: The epochs that could have been trained.
    """

    contest: Contest
    trials: Sequence[Trial]
    outcomes: Mapping[str, str]
    chosen: Trial
    beside: Trial | None
    epochs_at_most: int


def record_of(played: Played) -> dict[str, Any]:
    """The record; accuracies are fractions of the validation nodes."""
    chosen, beside, contest = played.chosen, played.beside, played.contest
    compared = None if beside is None or beside.result is None else _compare(chosen, beside)
    extra = [] if beside is None or beside in played.trials else [beside]
    spent = [trial.spent() for trial in (*played.trials, *extra)]
    return {
        "chosen": chosen.name,
        "model": chosen.model,
        "seed": chosen.seed,
        "epochs": sum(epochs for epochs, _ in spent),
        "epochs_at_most": played.epochs_at_most,
        "seconds": sum(seconds for _, seconds in spent),
        "candidates": [_about(t, played.outcomes[t.name], contest) for t in played.trials],
        "beside": None if beside is None else _about(beside, "beside the chosen one", contest),
        "localization": None if compared is None else {**compared.as_dict(), "note": _NOTE},
        "sentence": None if compared is None else compared.sentence,
    }


def _about(trial: Trial, outcome: str, contest: Contest) -> dict[str, Any]:
    """A candidate as the record has it; a figure that was never seen is null."""
    first, best = trial.best(contest.first_round), trial.best()
    epochs, seconds = trial.spent()
    seen = best.epoch >= 0
    return {
        "name": trial.name,
        "model": trial.model,
        "settings": {key: trial.recipe.settings[key] for key in contest.varied},
        "outcome": outcome,
        "first_round_val_accuracy": first.epoch_accuracy if first.epoch >= 0 else None,
        "val_accuracy": best.epoch_accuracy if seen else None,
        "val_loss": best.epoch_loss if seen else None,
        "epochs": epochs,
        "seconds": seconds,
    }


def _compare(chosen: Trial, beside: Trial) -> Comparison:
    """The localized one of the two against the other."""
    pair = sorted((chosen, beside), key=lambda trial: not find_row(trial.model).is_localized)
    localized, matched = (right_on_validation(trial.folder, trial.task()) for trial in pair)
    return Comparison.of(localized, matched)
