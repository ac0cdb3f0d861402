"""Curves over all thresholds, at fixed places: precision over recall, and the ROC."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nodewise.training.metrics import Probabilities

POINTS = 50  # equal steps of recall, or of the share of false positives


def recalls() -> NDArray[np.float64]:
    """The recalls at which `precisions` are: POINTS steps up to 1."""
    return np.arange(1, POINTS + 1) / POINTS


def false_shares() -> NDArray[np.float64]:
    """The shares of false positives at which `true_shares` are: POINTS steps from 0 to 1."""
    return np.arange(POINTS + 1) / POINTS


def precisions(positive: NDArray[np.bool_], scores: Probabilities) -> NDArray[np.float64]:
    """The precision where the recall is reached, for each of `recalls`.

    Nodes of equal scores are taken together, as average precision takes them.

    Args:
        positive: Which nodes have the class, shape (n,); at least one.
        scores: Their probabilities of it, shape (n,).
    """
    high, everything = np.sort(scores[positive]), np.sort(scores)
    needed = np.ceil(recalls() * len(high) - 1e-9).astype(np.int64).clip(min=1)
    threshold = high[len(high) - needed]
    found = len(high) - high.searchsorted(threshold, "left")
    taken = len(everything) - everything.searchsorted(threshold, "left")
    return np.asarray(found / taken)


def true_shares(positive: NDArray[np.bool_], scores: Probabilities) -> NDArray[np.float64]:
    """The ROC: the share of positives that is found, for each of `false_shares`.

    Between two thresholds the curve is straight.

    Args:
        positive: Which nodes have the class, shape (n,); at least one has it, and one has not.
        scores: Their probabilities of it, shape (n,).
    """
    thresholds = np.append(np.unique(scores)[::-1], -np.inf)
    shares = [
        (len(side) - np.sort(side).searchsorted(thresholds, "left")) / len(side)
        for side in (scores[~positive], scores[positive])
    ]
    false, true = (np.concatenate([[0.0], share]) for share in shares)
    return np.asarray(np.interp(false_shares(), false, true))
