"""The result of a selection, as `choice.json` has it: candidates, scores, a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from nodewise.experiments.auto.gain import Gain, in_words
from nodewise.experiments.auto.trial import Trial
from nodewise.models.zoo import find_row
from nodewise.training.early_stopping import Best
from nodewise.training.metrics import Metric, score


@dataclass(frozen=True)
class SelectionResult:
    """A selection that has ended.

    Attributes:
        trials: All candidates' runs, first to last.
        controls: Those of the controls.
        outcomes: Why a run was left out, by its name.
        best_global: The best run without localization.
        best_localized: The best with it; None if there is none.
        seconds: The time it took.
        budget: The time it was allowed.
        stopped: Whether it was ended before its budget was used.
    """

    trials: Sequence[Trial]
    controls: Sequence[Trial]
    outcomes: Mapping[str, str]
    best_global: Trial
    best_localized: Trial | None
    seconds: float
    budget: float
    stopped: bool = False
    _gains: dict[tuple[str, str], Gain] = field(default_factory=dict, repr=False)

    @property
    def metric(self) -> Metric:
        """The metric that decided."""
        return self.best_global.recipe.stopping.metric

    @cached_property
    def chosen(self) -> Trial:
        """The localized run where it is better by more than the standard error, else the global."""
        gain = self.localization
        is_better = gain is not None and gain.is_clear
        return self.best_localized if is_better and self.best_localized else self.best_global

    @property
    def localization(self) -> Gain | None:
        """What localization brought over the best global model; None where time was too short.

        A localized run must have been trained to its end, or as long as the global one.
        """
        localized = self.best_localized
        if localized is None:
            return None
        enough = localized.is_finished or localized.spent()[0] >= self.best_global.spent()[0]
        return self._gain(localized, self.best_global) if enough else None

    @property
    def graph(self) -> Gain | None:
        """What the graph brought over the best model of features alone, controls among them."""
        other = self.best_without_graph
        return None if other is None or other == self.chosen else self._gain(self.chosen, other)

    @cached_property
    def best_without_graph(self) -> Trial | None:
        """The best run without the graph; None if none was trained."""
        return self._best(t for t in (*self.trials, *self.controls) if not t.uses_graph)

    @property
    def _left_out(self) -> bool:
        """Whether there are localized forms that were never trained."""
        return any(find_row(trial.model).is_localized for trial in self.trials)

    @cached_property
    def better_control(self) -> Trial | None:
        """The best control, if it is better on validation nodes than the chosen run."""
        control, score = self._best(self.controls), self.chosen.best().epoch_accuracy
        return control if control is not None and control.best().epoch_accuracy > score else None

    def _best(self, trials: Iterable[Trial]) -> Trial | None:
        tried = [trial for trial in trials if trial.folder.exists() and trial.best().epoch >= 0]
        return max(tried, key=Trial.rank_key, default=None)

    def _gain(self, one: Trial, other: Trial) -> Gain:
        key = (one.name, other.name)
        if key not in self._gains:
            (y, first), (_, second) = one.on_validation(), other.on_validation()
            self._gains[key] = Gain.of(self.metric, y, first, second)
        return self._gains[key]

    @cached_property
    def sentences(self) -> list[str]:
        """What was chosen, what localization and the graph brought, and how sure that is."""
        chosen, control = self.chosen, self.better_control
        score = in_words(self.metric, chosen.best().epoch_accuracy)
        sentences = [f"Chosen: {chosen.name} ({chosen.model}), {score} on validation nodes."]
        if self.localization is not None:
            verb = "kept" if chosen == self.best_localized else "left out"
            sentences.append(
                f"Localization {verb}: {self.localization} over the best global model "
                f"({self.best_global.name})."
            )
        elif self.best_localized is not None or self._left_out:
            why = "choosing was stopped" if self.stopped else "the time was over"
            way_out = "" if self.stopped else "; give a longer --budget"
            sentences.append(f"Localization not decided: {why}{way_out}.")
        best = self.best_without_graph
        if self.graph is not None and best is not None:
            sentences.append(f"The graph: {self.graph} over features alone (best: {best.name}).")
        elif best is not None:
            sentences.append("The graph: left out; no model with it is better on validation nodes.")
        if control is not None:
            score = in_words(self.metric, control.best().epoch_accuracy)
            sentences.append(
                f"A model of scikit-learn is better on validation nodes: {control.name}, {score}."
            )
        return sentences

    @cached_property
    def record(self) -> dict[str, Any]:
        """The content of `choice.json`; scores are those of the metric."""
        chosen, gain = self.chosen, self.localization
        control, without_graph = self.better_control, self.best_without_graph
        return {
            "chosen": chosen.name,
            "model": chosen.model,
            "settings": chosen.recipe.settings,
            "seed": chosen.seed,
            "metric": self.metric,
            "val_score": chosen.best().epoch_accuracy,
            "val_scores": self._val_scores(),
            "best_epoch": chosen.best().epoch,
            "budget": self.budget,
            "stopped": self.stopped,
            "seconds": self.seconds,
            "epochs": sum(trial.spent()[0] for trial in (*self.trials, *self.controls)),
            "candidates": [self._about(trial) for trial in self.trials],
            "controls": [self._about(trial) for trial in self.controls],
            "best_global": self.best_global.name,
            "best_localized": None if self.best_localized is None else self.best_localized.name,
            "localization_gain": None if gain is None else gain.difference,
            "localization_gain_se": None if gain is None else gain.standard_error,
            "localization": None if gain is None else gain.as_dict(),
            "graph": None if self.graph is None else self.graph.as_dict(),
            "better_control": None if control is None else control.name,
            "features_alone": None if without_graph is None else without_graph.name,
            "sentences": self.sentences,
        }

    def _val_scores(self) -> dict[str, float]:
        """All metrics of the chosen run, by their names in a record."""
        found = vars(score(*self.chosen.on_validation()))
        return {f"val_{name}": value for name, value in found.items() if value is not None}

    def _about(self, trial: Trial) -> dict[str, Any]:
        """A run as the record has it; a score that was never measured is null."""
        tried = trial.folder.exists()
        best = trial.best() if tried else Best()
        epochs, seconds = trial.spent() if tried else (0, 0.0)
        seen = best.epoch >= 0
        stop = "stopped" if self.stopped else "stopped by the budget"
        ended = "trained to the end" if tried and trial.is_finished else stop
        return {
            "name": trial.name,
            "model": trial.model,
            "settings": dict(trial.candidate.settings),
            "outcome": "chosen" if trial == self.chosen else self.outcomes.get(trial.name, ended),
            "val_score": best.epoch_accuracy if seen else None,
            "val_loss": best.epoch_loss if seen else None,
            "epochs": epochs,
            "seconds": seconds,
        }
