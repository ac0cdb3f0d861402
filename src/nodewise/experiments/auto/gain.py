"""By how much one model's predictions are better than another's, on the same nodes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nodewise.randomness import FrozenRandom
from nodewise.training.metrics import TITLES, Metric, validation_score

_DRAWS = 200  # of the bootstrap

Probabilities = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Gain:
    """Two models scored on the same nodes.

    Attributes:
        metric: The metric.
        nodes: How many nodes.
        one: The score of the first model; minus the log loss.
        other: That of the second.
        standard_error: Of the difference, paired: the nodes are the same.
    """

    metric: Metric
    nodes: int
    one: float
    other: float
    standard_error: float

    @classmethod
    def of(
        cls, metric: Metric, truth: NDArray[np.int64], one: Probabilities, other: Probabilities
    ) -> Self:
        """From labels (n,) and the probabilities of both models, each (n, classes).

        The standard error of accuracy has a formula; that of other metrics is the deviation over
        nodes drawn with replacement, the same for the same number of nodes.
        """
        if metric == "accuracy":
            apart = (one.argmax(1) == truth).astype(float) - (other.argmax(1) == truth)
            error = float(apart.std() / sqrt(len(truth)))
        else:
            error = _bootstrap(metric, truth, one, other)
        first, second = (validation_score(metric, truth, model) for model in (one, other))
        return cls(metric, len(truth), first, second, error)

    @property
    def difference(self) -> float:
        """By how much the first model is better."""
        return self.one - self.other

    @property
    def is_clear(self) -> bool:
        """Whether the first model is better by more than the standard error."""
        return self.difference > self.standard_error

    @property
    def certainty(self) -> str:
        """How sure the sign of the difference is, in words."""
        ratio = abs(self.difference) / max(self.standard_error, 1e-12)
        if self.difference == 0 or ratio < 1:
            return "within chance"
        return "probable" if ratio < 2 else "clear"

    def __str__(self) -> str:
        """The difference in points, its standard error, and how sure it is."""
        error = f"paired SE {100 * self.standard_error:.1f}"
        return f"{100 * self.difference:+.1f} points ({error}, {self.certainty})"

    def as_dict(self) -> dict[str, Any]:
        """All numbers, as `choice.json` has them."""
        derived = {"difference": self.difference, "certainty": self.certainty}
        return {**asdict(self), **derived}


def in_words(metric: Metric, score: float) -> str:
    """A score with the metric's name: "81.2 % accuracy", "log loss 0.412"."""
    if metric == "log_loss":
        return f"{TITLES[metric]} {-score:.3f}"
    return f"{100 * score:.1f} % {TITLES[metric]}"


def _bootstrap(
    metric: Metric, truth: NDArray[np.int64], one: Probabilities, other: Probabilities
) -> float:
    random = FrozenRandom(len(truth), "bootstrap")
    differences = []
    for _ in range(_DRAWS):
        nodes = random.integers(len(truth), len(truth))
        scores = (validation_score(metric, truth[nodes], model[nodes]) for model in (one, other))
        differences.append(next(scores) - next(scores))
    return float(np.std(differences))
