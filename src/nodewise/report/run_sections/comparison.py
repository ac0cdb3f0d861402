"""A score beside another one, in words: better, worse, or not distinguishable."""

from __future__ import annotations

from dataclasses import dataclass

from nodewise.runs.score_text import score_text
from nodewise.training.intervals import difference

Score = tuple[float, tuple[float, float]]
_FALLING = ("log_loss", "calibration_error")  # the lower the better


@dataclass(frozen=True)
class Comparison:
    """By how much a score is better than another.

    Attributes:
        metric: The metric of both.
        gain: The difference; positive where the first is better.
        low: The lower end of its 95 % interval.
        high: The upper end.
    """

    metric: str
    gain: float
    low: float
    high: float

    @classmethod
    def of(cls, metric: str, one: Score, other: Score) -> Comparison:
        """From two scores, each with its interval."""
        first, second = (other, one) if metric in _FALLING else (one, other)
        return cls(metric, first[0] - second[0], *difference(*first, *second))

    @property
    def is_better(self) -> bool:
        """Whether the interval lies above zero."""
        return self.low > 0

    @property
    def is_significant(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0

    @property
    def verdict(self) -> str:
        """The words before the name of the other score."""
        if not self.is_significant:
            return "not distinguishable from"
        return "better than" if self.is_better else "worse than"

    @property
    def amount(self) -> str:
        """A significant difference without its sign, and its interval."""
        unit = "" if self.metric == "log_loss" else " points"
        gain, *ends = (
            score_text(abs(end), self.metric) for end in (self.gain, self.low, self.high)
        )
        low, high = ends if self.is_better else reversed(ends)
        return f"by {gain}{unit} ({low} to {high})"
