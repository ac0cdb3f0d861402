"""The result of a selection, as `choice.json` has it: candidates, scores, and a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nodewise.experiments.candidates import CandidateSet
from nodewise.experiments.node_by_node import Comparison, right_on_validation
from nodewise.experiments.trial import Trial
from nodewise.models.zoo import find_row

CHOICE = "choice.json"
_NOTE = (
    "The settings were chosen on these nodes for the chosen model, and its counterpart has the "
    "same, which favors the chosen one."
)


@dataclass(frozen=True)
class SelectionResult:
    """A selection that has ended.

    Attributes:
        candidate_set: The candidates it started with.
        trials: The candidates' runs.
        outcomes: The outcome of each, by name.
        chosen: The best run.
        counterpart: The same with localization switched the other way, if there is such a model.
        epochs_at_most: The epochs that could have been trained.
    """

    candidate_set: CandidateSet
    trials: Sequence[Trial]
    outcomes: Mapping[str, str]
    chosen: Trial
    counterpart: Trial | None
    epochs_at_most: int

    @cached_property
    def record(self) -> dict[str, Any]:
        """The content of `choice.json`; accuracies are fractions of the validation nodes."""
        chosen, counterpart = self.chosen, self.counterpart
        extra = [] if counterpart is None or counterpart in self.trials else [counterpart]
        spent = [trial.spent() for trial in (*self.trials, *extra)]
        compared = self._comparison()
        return {
            "chosen": chosen.name,
            "model": chosen.model,
            "seed": chosen.seed,
            "epochs": sum(epochs for epochs, _ in spent),
            "epochs_at_most": self.epochs_at_most,
            "seconds": sum(seconds for _, seconds in spent),
            "candidates": [self._about(trial, self.outcomes[trial.name]) for trial in self.trials],
            "beside": None
            if counterpart is None
            else self._about(counterpart, "counterpart of the chosen one"),
            "localization": None if compared is None else {**compared.as_dict(), "note": _NOTE},
            "sentence": None if compared is None else compared.sentence,
        }

    def _about(self, trial: Trial, outcome: str) -> dict[str, Any]:
        """A run as the record has it; a score that was never measured is null."""
        first, best = trial.best(self.candidate_set.first_round), trial.best()
        epochs, seconds = trial.spent()
        seen = best.epoch >= 0
        return {
            "name": trial.name,
            "model": trial.model,
            "settings": {key: trial.recipe.settings[key] for key in self.candidate_set.varied},
            "outcome": outcome,
            "first_round_val_accuracy": first.epoch_accuracy if first.epoch >= 0 else None,
            "val_accuracy": best.epoch_accuracy if seen else None,
            "val_loss": best.epoch_loss if seen else None,
            "epochs": epochs,
            "seconds": seconds,
        }

    def _comparison(self) -> Comparison | None:
        """The localized one of chosen run and counterpart against the other."""
        if self.counterpart is None or self.counterpart.result is None:
            return None
        pair = (self.chosen, self.counterpart)
        ordered = sorted(pair, key=lambda trial: not find_row(trial.model).is_localized)
        localized, matched = (right_on_validation(t.folder, t.task()) for t in ordered)
        return Comparison.of(localized, matched)
