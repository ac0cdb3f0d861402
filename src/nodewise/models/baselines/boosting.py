"""Boosted trees on features, alone or beside those of neighbors."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.sparse import coo_matrix, issparse

from nodewise.models.baselines.scikit import (
    FitSpec,
    GraphArrays,
    Probabilities,
    ScikitModel,
    Time,
    spread,
)

_SECONDS = 20.0
_MOST_COLUMNS, _COMPONENTS = 300, 64
# Trees for each class after which time and validation score are checked.
_ROUNDS = (10, 20, 40, 80, 160)
# Trees as scikit-learn grows them, and small ones, which fit few labels.
_SETTINGS: Final[tuple[Mapping[str, Any], ...]] = (
    {"max_leaf_nodes": 8, "min_samples_leaf": 5},
    {"max_leaf_nodes": 31, "min_samples_leaf": 20},
)


class Boosting(ScikitModel):
    """Boosted trees on the features of the nodes themselves, without the graph.

    More than 300 columns, such as words, become 64: the first components (TruncatedSVD) of rows of
    length one. Validation nodes choose the size of trees and how many. It grows trees for twenty
    seconds at most, so that results on larger graphs may depend on the processor.
    """

    def find(self, graph: GraphArrays, spec: FitSpec) -> Probabilities:
        """The probabilities of the best settings and the best number of trees."""
        time = Time(_SECONDS, spec.seconds)
        rows, best = self.columns(graph, spec), None
        for i, settings in enumerate(_SETTINGS):
            if best is not None and time.used >= 1:
                break
            share = (i + 1) / len(_SETTINGS)
            grown = _grow(rows, spec, settings, time, share, self.num_classes)
            best = grown if best is None or grown.score > best.score else best
        assert best is not None
        stages = best.model.staged_predict_proba(rows)
        found = next(islice(stages, best.rounds - 1, None))
        return spread(found, best.model.classes_, self.num_classes)

    def columns(self, graph: GraphArrays, spec: FitSpec) -> Any:
        """The columns that trees may split, a row for each node."""
        return _few_columns(graph.x, spec.seed)


class NeighborBoosting(Boosting):
    """As `Boosting`, on [x, mean of neighbors' x, mean of neighbors' means, number of neighbors].

    Weights of edges weigh the means.
    """

    def columns(self, graph: GraphArrays, spec: FitSpec) -> Any:
        """Features, their means over one and over two hops, and the degree."""
        rows, count = _few_columns(graph.x, spec.seed), graph.x.shape[0]
        source, target = graph.edge_index
        weight = np.ones(len(source)) if graph.edge_weight is None else graph.edge_weight
        total = np.bincount(target, np.abs(weight), count)
        share = weight / np.maximum(total, 1e-12)[target]
        mean = coo_matrix((share, (target, source)), (count, count)).tocsr()
        once = mean @ rows
        degree = np.bincount(target, minlength=count)[:, None]
        return np.hstack([rows, once, mean @ once, degree])


class _Grown(NamedTuple):
    """A model, its best number of rounds, and the score of validation nodes after them."""

    model: Any
    rounds: int
    score: tuple[float, ...]


def _grow(
    rows: Any, spec: FitSpec, settings: Mapping[str, Any], time: Time, share: float, classes: int
) -> _Grown:
    """Grow trees until validation nodes gain nothing from the later half, or the time is over.

    Args:
        rows: The columns to split, a row for each node.
        spec: The labels.
        settings: Of the trees.
        time: The time for all settings.
        share: Its share that is used in the end.
        classes: How many classes.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        **settings,
        early_stopping=False,
        warm_start=True,
        class_weight=spec.class_weight,
        random_state=spec.seed,
    )
    began = time.used
    for rounds in _ROUNDS:
        model.set_params(max_iter=rounds).fit(rows[spec.train], spec.y[spec.train])
        stages = model.staged_predict_proba(rows[spec.val])
        scores = [spec.score(spread(found, model.classes_, classes)) for found in stages]
        best = max(range(rounds), key=scores.__getitem__)
        # The next round grows as many trees as there are.
        if 2 * (best + 1) <= rounds or 2 * time.used - began > share:
            break
    return _Grown(model, best + 1, scores[best])


def _few_columns(x: Any, seed: int) -> Any:
    """The features as a dense array of few columns."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    if x.shape[1] <= _MOST_COLUMNS:
        return x.toarray() if issparse(x) else x
    reduced = TruncatedSVD(min(_COMPONENTS, x.shape[0] - 1), n_iter=2, random_state=seed)
    return reduced.fit_transform(normalize(x))
