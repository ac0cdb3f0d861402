"""Metrics of predictions: accuracy, the paper's Micro-F, macro-F."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Metrics:
    """Fractions between 0 and 1."""

    accuracy: float
    micro_f: float
    macro_f: float


def most_frequent(labels: Labels) -> int:
    """The class with most labels; of equal ones the lower number."""
    return int(np.bincount(labels).argmax())


def score(truth: Labels, predicted: Labels, known: Labels) -> Metrics:
    """The metrics of predictions.

    The paper's Micro-F is not plain micro-F1, which would equal accuracy: it is micro-averaged F1
    over all classes but the most frequent one.

    Args:
        truth: Labels of the scored nodes.
        predicted: Their predicted labels.
        known: Labels of all training, validation and test nodes, among which classes are counted.
    """
    classes = np.unique(known)
    rest = classes[classes != most_frequent(known)]
    f1 = {"y_true": truth, "y_pred": predicted, "zero_division": 0.0}
    return Metrics(
        accuracy=float(accuracy_score(truth, predicted)),
        micro_f=float(f1_score(**f1, labels=rest, average="micro")),
        macro_f=float(f1_score(**f1, labels=classes, average="macro")),
    )
