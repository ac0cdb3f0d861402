"""What `choice.json` says: candidates, their validation figures, and what localization brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nodewise.experiments.candidates import CandidateSet
from nodewise.experiments.node_by_node import Comparison, right_on_validation
from nodewise.experiments.trial import Trial
from nodewise.models.zoo import find_row

CHOICE = "choice.json"
_NOTE = (
    "The settings were chosen on these nodes for the chosen model, and taken over by the one "
    "beside it, which favors the chosen one."
)


@dataclass(frozen=True)
class SelectionResult:
    """A candidate_set that is over.

    Attributes:
        candidate_set: Who could take part.
        trials: The candidates' runs.
        outcomes: What became of each, by name.
        chosen: The best.
        beside: The same with localization switched the other way, if there is such a model.
        epochs_at_most: The epochs that could have been trained.
    """

    candidate_set: CandidateSet
    trials: Sequence[Trial]
    outcomes: Mapping[str, str]
    chosen: Trial
    beside: Trial | None
    epochs_at_most: int


def record_of(played: SelectionResult) -> dict[str, Any]:
    """The record; accuracies are fractions of the validation nodes."""
    chosen, beside, candidate_set = played.chosen, played.beside, played.candidate_set
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
        "candidates": [_about(t, played.outcomes[t.name], candidate_set) for t in played.trials],
        "beside": None
        if beside is None
        else _about(beside, "beside the chosen one", candidate_set),
        "localization": None if compared is None else {**compared.as_dict(), "note": _NOTE},
        "sentence": None if compared is None else compared.sentence,
    }


def _about(trial: Trial, outcome: str, candidate_set: CandidateSet) -> dict[str, Any]:
    """A candidate as the record has it; a figure that was never seen is null."""
    first, best = trial.best(candidate_set.first_round), trial.best()
    epochs, seconds = trial.spent()
    seen = best.epoch >= 0
    return {
        "name": trial.name,
        "model": trial.model,
        "settings": {key: trial.recipe.settings[key] for key in candidate_set.varied},
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
