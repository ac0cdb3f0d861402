"""Sentences on how far to trust a run: overfitting, few nodes, the weakest class, confidence."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from statistics import fmean

from nodewise.report.run_sections.records import PARTS, RunGroup
from nodewise.report.run_sections.score_words import nodes
from nodewise.training.intervals import difference, wilson
from nodewise.training.metrics import calibration_error

_GAP = 0.10  # the accuracy on training nodes is higher by so much where a model overfits
_WIDE = 0.10  # an interval of accuracy that few nodes make
_GOOD, _ROUGH = 0.05, 0.10  # calibration errors
_CHANCE = 1.5  # times the error that chance alone would give


def overfitting_or_few_nodes(group: RunGroup) -> str | None:
    """Whether the model overfits, else whether there are few scored nodes."""
    return overfitting(group) or few_nodes(group)


def overfitting(group: RunGroup) -> str | None:
    """Whether training nodes are predicted much better than others; None where they are not."""
    learned = [about["train_accuracy"] for about in group.diagnostics if "train_accuracy" in about]
    accuracy, interval = group.mean("accuracy"), group.interval("accuracy")
    if not learned or accuracy is None or interval is None:
        return None
    train = fmean(learned)
    if train < accuracy + _GAP or train < interval[1]:
        return None
    return (
        f"The model overfits: {100 * train:.1f} % of the training nodes are right, but "
        f"{100 * accuracy:.1f} % of the {PARTS[group.part]} nodes."
    )


def few_nodes(group: RunGroup) -> str | None:
    """Whether there are so few scored nodes that accuracy is uncertain; None where it is not."""
    interval = group.interval("accuracy")
    if interval is None or interval[1] - interval[0] <= _WIDE:
        return None
    width = 100 * (interval[1] - interval[0])
    return (
        f"{nodes(group)} are few: the interval of accuracy is {width:.0f} points wide, and "
        "differences of a few points are within chance."
    )


@dataclass(frozen=True)
class LowestRecall:
    """The class with the lowest recall.

    Attributes:
        name: Its name.
        count: Its scored nodes.
        recall: The share of them that is predicted as this class.
        mistaken_for: The class that most of the others are predicted as.
        is_clear: Whether the interval of its distance to the other classes excludes zero.
    """

    name: str
    count: int
    recall: float
    mistaken_for: str
    is_clear: bool


def lowest_recall(group: RunGroup) -> LowestRecall | None:
    """The class with the lowest recall; None where scored nodes have fewer than two classes."""
    rows, times = group.confusion, max(len(group.diagnostics), 1)
    known = [k for k, row in enumerate(rows) if sum(row)]
    if len(known) < 2:
        return None
    worst = min(known, key=lambda k: (rows[k][k] / sum(rows[k]), -sum(rows[k])))
    row, others = rows[worst], [k for k in known if k != worst]
    total, right = sum(sum(rows[k]) for k in others), sum(rows[k][k] for k in others)
    recall, other_recall = row[worst] / sum(row), right / total
    interval = wilson(recall, sum(row) // times)
    other_interval = wilson(other_recall, total // times)
    is_clear = difference(recall, interval, other_recall, other_interval)[1] < 0
    mistaken_for = max((k for k in range(len(row)) if k != worst), key=lambda k: row[k])
    name, other = group.classes[worst], group.classes[mistaken_for]
    return LowestRecall(name, sum(row) // times, recall, other, is_clear)


def hardest_class(group: RunGroup) -> str | None:
    """Which class has the lowest recall, and what its nodes are mistaken for."""
    worst = lowest_recall(group)
    if worst is None:
        return None
    if not worst.is_clear:
        return "No class has a significantly lower recall than the others."
    return (
        f"Class {worst.name!r} has the lowest recall: {100 * worst.recall:.1f} % of its "
        f"{worst.count:,} {PARTS[group.part]} nodes; most others are predicted as "
        f"{worst.mistaken_for!r}."
    )


@dataclass(frozen=True)
class Calibration:
    """How far confidence is from accuracy.

    Attributes:
        error: The expected calibration error, the mean over runs.
        by_chance: The error that perfectly calibrated probabilities would have on so many nodes.
        confidence: The mean probability of the predicted class.
        accuracy: The share of predictions that are right.
    """

    error: float
    by_chance: float
    confidence: float
    accuracy: float

    @property
    def is_good(self) -> bool:
        """Whether probabilities can be taken as they are."""
        return self.error <= _GOOD

    @property
    def is_open(self) -> bool:
        """Whether the error may be due to the few nodes alone."""
        return not self.is_good and self.error < _CHANCE * self.by_chance


def calibration(group: RunGroup) -> Calibration | None:
    """The calibration of the runs; None where nothing is known."""
    tables = [about["reliability"] for about in group.diagnostics]
    if not tables:
        return None
    bins = [entry for table in tables for entry in table if entry["count"]]
    total = sum(entry["count"] for entry in bins)
    means = [(entry["count"], entry["confidence"] / entry["count"]) for entry in bins]
    # A mean of n draws lies sqrt(2 / pi) of its standard error from its expectation, on average.
    by_chance = sum(sqrt(2 / pi * n * max(p * (1 - p), 0)) for n, p in means) / total
    confidence, right = (
        sum(entry[key] for entry in bins) / total for key in ("confidence", "right")
    )
    error = fmean(calibration_error(table) for table in tables)
    return Calibration(error, by_chance, confidence, right)


def probabilities(group: RunGroup) -> str | None:
    """Whether probabilities can be believed."""
    found = calibration(group)
    if found is None:
        return None
    error = f"calibration error {100 * found.error:.1f} %"
    if found.is_good:
        return f"Probabilities can be taken as they are: {error}."
    if found.is_open:
        return (
            f"{nodes(group)} are too few to say whether probabilities can be believed: {error}, "
            f"of which chance alone would give {100 * found.by_chance:.1f} %."
        )
    sides = f"{100 * found.confidence:.1f} % on average, and {100 * found.accuracy:.1f} % are right"
    tendency = "high" if found.confidence > found.accuracy else "low"
    start = (
        "Take probabilities with care" if found.error <= _ROUGH else "Do not believe probabilities"
    )
    return f"{start}: {error}; they are too {tendency}, {sides}."
