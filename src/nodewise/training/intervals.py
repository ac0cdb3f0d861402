"""How sure a score is: intervals that cover the score on all such nodes 95 times in 100.

They are about the nodes that happen to be scored, for one model; another seed or split can differ
by more. Accuracy has Wilson's interval, ROC AUC that of DeLong et al. (1988), the others a
jackknife over twenty groups of nodes.
"""

from __future__ import annotations

from math import hypot, sqrt

import numpy as np
from numpy.typing import NDArray

from nodewise.training.metrics import METRICS, Labels, Metric, Probabilities, metric_of, positives

_Z = 1.959964
_GROUPS = 20
_MOST_VALUES = (
    5_000_000  # probabilities; beyond, twenty scores take too long, and intervals are short
)


def intervals(truth: Labels, probabilities: Probabilities) -> dict[Metric, tuple[float, float]]:
    """The interval of each metric, where there is one.

    Args:
        truth: Labels of the scored nodes, shape (n,).
        probabilities: Their probabilities, shape (n, classes).
    """
    found: dict[Metric, tuple[float, float]] = {}
    for metric in METRICS:
        value = metric_of(metric, truth, probabilities)
        if metric == "accuracy":
            found[metric] = wilson(value, len(truth))
            continue
        if metric == "roc_auc":
            error = delong(truth, probabilities)
        else:
            error = _jackknife(metric, truth, probabilities)
        if np.isfinite(value) and np.isfinite(error):
            highest = np.inf if metric == "log_loss" else 1.0
            found[metric] = (max(value - _Z * error, 0.0), min(value + _Z * error, highest))
    return found


def wilson(share: float, count: int) -> tuple[float, float]:
    """Wilson's interval of a share of so many nodes."""
    square = _Z * _Z / count
    middle = (share + square / 2) / (1 + square)
    half = _Z * sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def difference(
    one: float, of_one: tuple[float, float], other: float, of_other: tuple[float, float]
) -> tuple[float, float]:
    """The interval of `one - other`, from both scores and their intervals.

    Method 10 of Newcombe (1998, Statistics in Medicine 17:873), for independent scores. Scores on
    the same nodes mostly rise and fall together; then it is wider than it need be.
    """
    below = hypot(one - of_one[0], of_other[1] - other)
    above = hypot(of_one[1] - one, other - of_other[0])
    return one - other - below, one - other + above


def delong(truth: Labels, probabilities: Probabilities) -> float:
    """The standard error of ROC AUC; of several classes, that of the mean of their areas.

    A node counts in the area of each class, for its own class by the negatives below it and for
    others by the positives above it. The error is that of the sum of what nodes contribute.
    """
    classes = positives(truth, probabilities.shape[1])
    influence = np.zeros(len(truth))
    for k in classes:
        positive = truth == k
        for side, sign in ((positive, 1), (~positive, -1)):
            count = int(side.sum())
            if count < 2:
                return np.nan
            below = _share_below(sign * probabilities[side, k], sign * probabilities[~side, k])
            influence[side] += (below - below.mean()) / sqrt(count * (count - 1))
    return float(np.linalg.norm(influence) / len(classes)) if classes else np.nan


def _share_below(scores: NDArray[np.floating], others: NDArray[np.floating]) -> NDArray[np.float64]:
    """For each score, the share of the others that are lower; equal ones count a half."""
    ordered = np.sort(others)
    both = ordered.searchsorted(scores, "left") + ordered.searchsorted(scores, "right")
    return np.asarray(both / (2 * len(others)))


def _jackknife(metric: Metric, truth: Labels, probabilities: Probabilities) -> float:
    """The standard error of a metric, from leaving out one group of nodes after the other."""
    if len(truth) < 2 or probabilities.size > _MOST_VALUES:
        return np.nan
    groups = np.random.default_rng(0).permutation(len(truth)) % min(_GROUPS, len(truth))
    count, classes = groups.max() + 1, positives(truth, probabilities.shape[1])
    kept = [groups != group for group in range(count)]
    if metric == "average_precision" and any(np.setdiff1d(classes, truth[k]).size for k in kept):
        return np.nan  # a class is in one group only
    values = np.array([metric_of(metric, truth[k], probabilities[k], classes) for k in kept])
    return float(sqrt((count - 1) / count * ((values - values.mean()) ** 2).sum()))
