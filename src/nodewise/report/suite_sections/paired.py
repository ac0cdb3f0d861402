"""Paired comparisons: differences between two models over the same seeds, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from scipy.stats import t

Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Difference:
    """The mean of paired differences, with a 95 % interval by Student's t.

    Attributes:
        gaps: The differences, seed by seed, of the seeds that both have.
        mean: Their mean.
        low: The interval's lower end.
        high: Its upper end.
    """

    gaps: Sequence[float]
    mean: float
    low: float
    high: float

    @property
    def pairs(self) -> int:
        """How many seeds both have."""
        return len(self.gaps)

    @property
    def is_significant(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        mean, low, high = (_points(value) for value in (self.mean, self.low, self.high))
        return f"{mean} [{low}, {high}]{' significant' if self.is_significant else ''}"


def _points(value: float) -> str:
    """In points; with another digit if it is nearly zero, so that its sign means something."""
    return f"{100 * value:+.1f}" if abs(value) >= 0.0005 else f"{100 * value:+.2f}"


def paired_difference(one: Records, other: Records, figure: str) -> Difference | None:
    """One minus the other over the seeds and splits that both have; None with fewer than two.

    Args:
        one: Records of a model.
        other: Records of the model it is compared with.
        figure: The number to compare, such as "test_accuracy".
    """
    others = {seed_and_split(record): record[figure] for record in other}
    gaps = [r[figure] - others[seed_and_split(r)] for r in one if seed_and_split(r) in others]
    if len(gaps) < 2:
        return None
    half = float(t.ppf(0.975, len(gaps) - 1)) * stdev(gaps) / sqrt(len(gaps))
    mean = fmean(gaps)
    return Difference(gaps, mean, mean - half, mean + half)


def seed_and_split(record: Mapping[str, Any]) -> tuple[Any, Any]:
    """Seed and split, which the runs of a pair share."""
    return record["seed"], record.get("split_sha256")
