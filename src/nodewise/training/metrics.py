"""Metrics of predictions, from labels and probabilities; in NumPy, fast enough for every epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import nan
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]
Probabilities = NDArray[np.floating[Any]]
Metric = Literal[
    "accuracy", "balanced_accuracy", "macro_f", "roc_auc", "average_precision", "log_loss"
]
METRICS: tuple[Metric, ...] = get_args(Metric)
TITLES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "macro_f": "macro-F",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
    "log_loss": "log loss",
    "calibration_error": "calibration error",
    "micro_f": "Micro-F",
}
_BINS = 10  # of confidence
_IMBALANCED = 4  # the largest class has so many times the nodes of the smallest


@dataclass(frozen=True)
class Metrics:
    """All metrics; fractions between 0 and 1 except the log loss.

    A metric is None where it is undefined: `roc_auc` and `average_precision` where all nodes have
    one class.

    Attributes:
        accuracy: The share of nodes whose most probable class is right.
        balanced_accuracy: The mean over classes of the share that is found (recall).
        micro_f: The paper's Micro-F. Plain micro-F1 would equal accuracy: this one is
            micro-averaged F1 over all classes but the most frequent one.
        macro_f: The mean over classes of F1.
        roc_auc: The area under the ROC curve; of several classes, the mean over classes, each
            against the rest.
        average_precision: The area under the steps of precision over recall; of two classes, that
            of the rarer one (of class 1 if both are as frequent), of several, the mean over
            classes, each against the rest.
        log_loss: The mean of -log of the probability of the right class, in nats.
        calibration_error: The expected calibration error, in ten bins of equal width.
    """

    accuracy: float
    balanced_accuracy: float
    micro_f: float
    macro_f: float
    roc_auc: float | None
    average_precision: float | None
    log_loss: float
    calibration_error: float


METRIC_NAMES = tuple(field.name for field in fields(Metrics))


def score(truth: Labels, probabilities: Probabilities, known: Labels | None = None) -> Metrics:
    """All metrics of predictions; a mean over classes is one over those that occur in `truth`.

    Args:
        truth: Labels of the scored nodes, shape (n,).
        probabilities: Their probabilities, shape (n, classes).
        known: Labels of all training, validation and test nodes, among which the most frequent
            class is that Micro-F leaves out; by default those of the scored nodes.
    """
    counts = confusion(truth, probabilities)
    bins = reliability(truth, probabilities)
    values = {name: metric_of(name, truth, probabilities) for name in METRICS}
    return Metrics(
        micro_f=_micro_f(counts, most_frequent(truth if known is None else known)),
        calibration_error=calibration_error(bins),
        **{name: None if np.isnan(value) else value for name, value in values.items()},  # type: ignore[arg-type]
    )


def metric_of(
    metric: Metric,
    truth: Labels,
    probabilities: Probabilities,
    classes: Sequence[int] | None = None,
) -> float:
    """One metric of predictions; NaN where it is undefined.

    Args:
        metric: Its name.
        truth: Labels of the scored nodes, shape (n,).
        probabilities: Their probabilities, shape (n, classes).
        classes: For ROC AUC and average precision, the classes that are scored against the rest;
            None takes the rarer of two, and all of several.
    """
    if metric in _METRICS:
        return _METRICS[metric](truth, probabilities)
    against = positives(truth, probabilities.shape[1]) if classes is None else classes
    values = [_AGAINST_REST[metric](truth == k, probabilities[:, k]) for k in against]
    return float(np.mean(values)) if values else nan


def validation_score(metric: Metric, truth: Labels, probabilities: Probabilities) -> float:
    """The score that early stopping maximizes: the metric, or minus the log loss.

    Where the metric is undefined it is 0 in every epoch, so that the loss decides.
    """
    value = metric_of(metric, truth, probabilities)
    return 0.0 if np.isnan(value) else -value if metric == "log_loss" else value


def record_score(record: Mapping[str, Any]) -> float:
    """The validation score of a run's record, by the metric of its recipe; the higher the better.

    Minus infinity for a record without one.
    """
    metric = record.get("settings", {}).get("metric", "accuracy")
    value = record.get(f"val_{metric}")
    if value is None:
        return -np.inf
    return -float(value) if metric == "log_loss" else float(value)


class DefaultMetric(NamedTuple):
    """A metric, and why it is the default: a sentence; empty for accuracy."""

    metric: Metric
    reason: str


def default_metric(labels: Labels, class_names: Sequence[str] | None = None) -> DefaultMetric:
    """The metric that stopping maximizes by default.

    Accuracy, unless the largest class has at least four times the nodes of the smallest: then a
    model that always answers the largest class looks good, and it is ROC AUC for two classes,
    macro-F for several.

    Args:
        labels: Labels of nodes; those below zero are none.
        class_names: A name for each class, for the reason.
    """
    classes, counts = np.unique(labels[labels >= 0], return_counts=True)
    if len(classes) < 2 or counts.max() < _IMBALANCED * counts.min():
        return DefaultMetric("accuracy", "")
    metric: Metric = "roc_auc" if len(classes) == 2 else "macro_f"
    ends = [int(classes[counts.argmax()]), int(classes[counts.argmin()])]
    largest, smallest = (str(k) if class_names is None else class_names[k] for k in ends)
    return DefaultMetric(
        metric,
        f"{TITLES[metric]} decides when to stop, not accuracy: class {largest!r} has "
        f"{counts.max() / counts.min():.1f} times the nodes of class {smallest!r}",
    )


def most_frequent(labels: Labels) -> int:
    """The class with most labels; of equal ones the lower number."""
    return int(np.bincount(labels).argmax())


def confusion(truth: Labels, probabilities: Probabilities) -> Labels:
    """How many nodes of each class (row) are predicted as each class (column)."""
    classes = probabilities.shape[1]
    pairs = truth * classes + probabilities.argmax(1)
    return np.bincount(pairs, minlength=classes * classes).reshape(classes, classes)


def f_scores(counts: Labels) -> NDArray[np.float64]:
    """F1 of each class, from the confusion matrix; 0 for a class that never occurs."""
    of_both = counts.sum(0) + counts.sum(1)
    return np.asarray(2 * counts.diagonal() / np.maximum(of_both, 1))


def _micro_f(counts: Labels, left_out: int) -> float:
    rest = np.arange(len(counts)) != left_out
    of_both = counts.sum(0)[rest].sum() + counts.sum(1)[rest].sum()
    return float(2 * counts.diagonal()[rest].sum() / max(of_both, 1))


def _accuracy(truth: Labels, probabilities: Probabilities) -> float:
    return float((probabilities.argmax(1) == truth).mean())


def _balanced_accuracy(truth: Labels, probabilities: Probabilities) -> float:
    counts = confusion(truth, probabilities)
    of_class = counts.sum(1)
    occurs = of_class > 0
    return float((counts.diagonal()[occurs] / of_class[occurs]).mean())


def _macro_f(truth: Labels, probabilities: Probabilities) -> float:
    counts = confusion(truth, probabilities)
    return float(f_scores(counts)[counts.sum(1) > 0].mean())


def _log_loss(truth: Labels, probabilities: Probabilities) -> float:
    right = probabilities[np.arange(len(truth)), truth].astype(np.float64)
    return float(-np.log(right.clip(np.finfo(np.float64).eps)).mean())


def positives(truth: Labels, classes: int) -> list[int]:
    """The classes that are scored against the rest: of two the rarer one, of several all.

    A class that no node has, or all have, cannot be scored.
    """
    counts = np.bincount(truth, minlength=classes)
    if classes == 2:
        return [int(counts[1] <= counts[0])] if counts.all() else []
    return [int(k) for k in np.flatnonzero((counts > 0) & (counts < len(truth)))]


def _roc_auc(positive: NDArray[np.bool_], scores: Probabilities) -> float:
    """The share of pairs of a positive and a negative that are in order; ties count a half."""
    high, low = np.sort(scores[positive]), np.sort(scores[~positive])
    in_order = low.searchsorted(high, "left").sum() + low.searchsorted(high, "right").sum()
    return float(in_order / (2 * len(high) * len(low)))


def _average_precision(positive: NDArray[np.bool_], scores: Probabilities) -> float:
    """The mean over positives of the precision among all that score at least as high."""
    high, everything = np.sort(scores[positive]), np.sort(scores)
    found = len(high) - high.searchsorted(high, "left")
    taken = len(everything) - everything.searchsorted(high, "left")
    return float((found / taken).mean())


_METRICS: dict[Metric, Callable[[Labels, Probabilities], float]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "macro_f": _macro_f,
    "log_loss": _log_loss,
}
_AGAINST_REST: dict[Metric, Callable[[NDArray[np.bool_], Probabilities], float]] = {
    "roc_auc": _roc_auc,
    "average_precision": _average_precision,
}


def reliability(truth: Labels, probabilities: Probabilities) -> list[dict[str, float]]:
    """Nodes by the confidence of their prediction, in bins of equal width.

    Args:
        truth: Labels, shape (n,).
        probabilities: Probabilities, shape (n, classes).

    Returns:
        For each bin its count, the sum of confidences, and how many predictions are right.
    """
    confidence = probabilities.max(1).astype(np.float64)
    bins = (confidence * _BINS).astype(np.int64).clip(max=_BINS - 1)
    right = probabilities.argmax(1) == truth
    columns = {"count": np.ones(len(truth)), "confidence": confidence, "right": right}
    sums = {name: np.bincount(bins, v, minlength=_BINS) for name, v in columns.items()}
    return [{name: float(values[i]) for name, values in sums.items()} for i in range(_BINS)]


def calibration_error(bins: Sequence[Mapping[str, float]]) -> float:
    """ECE: the distance of confidence and accuracy in each bin, averaged over the nodes."""
    total = sum(entry["count"] for entry in bins)
    return sum(abs(entry["right"] - entry["confidence"]) for entry in bins) / max(total, 1)
