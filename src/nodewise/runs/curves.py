"""Each class against the rest, for `diagnostics.json`: average precision, and points of curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.training.curves import precisions, true_shares
from nodewise.training.metrics import Labels, Probabilities, metric_of, positives

DRAWN = 7  # classes with a curve: so many colors the color-blind distinguish
_DIGITS = 4


def curves_of(truth: Labels, probabilities: Probabilities) -> dict[str, Any]:
    """Average precisions, precision over recall for the most frequent classes, the ROC of two.

    Args:
        truth: Labels of the scored nodes, shape (n,).
        probabilities: Their probabilities, shape (n, classes).

    Returns:
        `classes`: for each class that some nodes have and others have not its number, its share of
        the nodes, its average precision, and for the most frequent ones the `precision` at each of
        `nodewise.training.curves.recalls`. `roc`, of two classes: the number of the rarer one, and
        its `true_shares`.
    """
    counts = np.bincount(truth, minlength=probabilities.shape[1])
    drawn = set(np.argsort(-counts, kind="stable")[:DRAWN].tolist())
    scored = [k for k in np.flatnonzero(counts).tolist() if counts[k] < len(truth)]
    found: dict[str, Any] = {
        "classes": [_of_class(k, truth, probabilities, k in drawn) for k in scored]
    }
    rarer = positives(truth, 2) if probabilities.shape[1] == 2 else []
    for k in rarer:
        shares = true_shares(truth == k, probabilities[:, k])
        found["roc"] = {"class": k, "true_shares": _rounded(shares)}
    return found


def _of_class(
    k: int, truth: Labels, probabilities: Probabilities, is_drawn: bool
) -> dict[str, Any]:
    positive, scores = truth == k, probabilities[:, k]
    about = {
        "class": k,
        "share": round(float(positive.mean()), _DIGITS),
        "average_precision": metric_of("average_precision", truth, probabilities, [k]),
    }
    return {**about, "precision": _rounded(precisions(positive, scores))} if is_drawn else about


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return [float(value) for value in values.round(_DIGITS)]
