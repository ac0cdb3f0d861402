"""Logistic regression on the features of the nodes themselves, without the graph."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.models.baselines.scikit import (
    FitSpec,
    GraphArrays,
    Probabilities,
    ScikitModel,
    Time,
    spread,
)

_STRENGTHS = (1.0, 10.0, 0.1, 100.0, 0.01)
_SECONDS = 10.0  # for all strengths together
_STEPS = 25  # of the solver between two looks at the clock
_ROUNDS = 12


class Logistic(ScikitModel):
    """Logistic regression whose scaling and strength the validation nodes choose.

    It computes for ten seconds at most.
    """

    def find(self, graph: GraphArrays, spec: FitSpec) -> Probabilities:
        """The probabilities of the best of all settings that there is time for."""
        time = Time(_SECONDS, spec.seconds)
        best: tuple[tuple[float, ...], Probabilities] | None = None
        for rows, strength in product(_scaled(graph.x, spec.train), _STRENGTHS):
            if best is not None and time.used >= 1:
                break
            found = _regression(rows, strength, spec, time, self.num_classes)
            score = spec.score(found[spec.val])
            if best is None or score > best[0]:
                best = score, found
        assert best is not None
        return best[1]


def _scaled(x: Any, train: NDArray[np.int64]) -> Iterator[Any]:
    """Rows of length one, then columns of unit deviation."""
    from sklearn.preprocessing import StandardScaler, normalize

    yield normalize(x)
    yield StandardScaler(with_mean=isinstance(x, np.ndarray)).fit(x[train]).transform(x)


def _regression(
    rows: Any, strength: float, spec: FitSpec, time: Time, classes: int
) -> Probabilities:
    """Probabilities of all nodes; the solver stops when it has converged, or the time is up."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(
        C=strength, max_iter=_STEPS, warm_start=True, class_weight=spec.class_weight
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(_ROUNDS):
            model.fit(rows[spec.train], spec.y[spec.train])
            if model.n_iter_.max() < _STEPS or time.used >= 1:
                break
    return spread(model.predict_proba(rows), model.classes_, classes)
