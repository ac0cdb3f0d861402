"""Controls: what a model must beat, the majority class and a model of the features alone."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.io import write_json
from nodewise.ops.sparse import SparseRows
from nodewise.runs.run import Task, scores_of_probabilities
from nodewise.training.inputs import prepare
from nodewise.training.metrics import validation_score

CONTROLS = "controls.json"
_STRENGTHS = (1.0, 10.0, 0.1, 100.0, 0.01)
_SECONDS = 10.0  # for all strengths together
_STEPS = 25  # of the solver between two looks at the clock
_ROUNDS = 12
_MOST_WORK = 500_000_000  # entries of training rows times classes: a step takes a tenth of a second


def controls_in(folder: Path, task: Task) -> dict[str, Any]:
    """The controls of a task, from `controls.json`; they are computed if it has none of this task.

    Args:
        folder: The folder of all runs of the task.
        task: The task.
    """
    path = folder / CONTROLS
    about = {
        "split_sha256": task.split.sha256(),
        "graph_sha256": task.graph_sha256,
        "metric": task.recipe.stopping.metric,
        "class_weight": task.recipe.optimization.class_weight,
    }
    known = read_controls(folder)
    if known is None or not about.items() <= known.items():
        known = {**about, **controls_of(task)}
        write_json(path, known)
    return known


def read_controls(folder: Path) -> dict[str, Any] | None:
    """The content of `controls.json`; None without such a file."""
    try:
        return dict(json.loads((folder / CONTROLS).read_bytes()))
    except (OSError, ValueError):
        return None


def controls_of(task: Task) -> dict[str, Any]:
    """Scores of the majority class (`majority`) and of the features alone (`features_only`).

    The majority class is that of training and validation nodes, whose shares are its probabilities.
    The features alone are those of the nodes themselves, in a logistic regression whose scaling and
    strength validation nodes choose. Where it would take long, the reason is in `skipped`.
    """
    labels, split = task.data.y.cpu().numpy(), task.split
    known = labels[np.concatenate([split.train, split.val])]
    shares = np.bincount(known, minlength=len(task.class_names)) / len(known)
    everywhere = np.broadcast_to(shares, (len(labels), len(shares)))
    majority = scores_of_probabilities(everywhere, labels, split)
    name = task.class_names[int(shares.argmax())]
    return {"majority": {**majority, "class": name}, "features_only": _features_only(task)}


def _features_only(task: Task) -> dict[str, Any]:
    began, split, labels = perf_counter(), task.split, task.data.y.cpu().numpy()
    x = _matrix(task)
    entries = getattr(x[split.train], "nnz", len(split.train) * x.shape[1])
    if np.unique(labels[split.train]).size < 2:
        return {"skipped": "all training nodes have one class"}
    if entries * len(task.class_names) > _MOST_WORK:
        return {"skipped": "the training nodes have too many features for a few seconds"}
    best: tuple[float, NDArray[np.float64]] | None = None
    for rows, strength in product(_scaled(x, split.train), _STRENGTHS):
        if best is not None and perf_counter() - began > _SECONDS:
            break
        probabilities = _regression(rows, strength, task, began + _SECONDS)
        metric = task.recipe.stopping.metric
        score = validation_score(metric, labels[split.val], probabilities[split.val])
        if best is None or score > best[0]:
            best = score, probabilities
    assert best is not None
    scores = scores_of_probabilities(best[1], labels, split)
    return {**scores, "seconds": perf_counter() - began}


def _matrix(task: Task) -> Any:
    """The features as a SciPy matrix if they are sparse, else as an array."""
    from scipy.sparse import csr_matrix

    x = prepare(task.data.x.cpu(), "none")
    if not isinstance(x, SparseRows):
        return x.numpy()
    arrays = (x.values.numpy(), x.col.numpy(), x.crow.numpy())
    return csr_matrix(arrays, shape=(x.num_rows, x.width))


def _scaled(x: Any, train: NDArray[np.int64]) -> Iterator[Any]:
    """Rows of length one, then columns of unit deviation."""
    from sklearn.preprocessing import StandardScaler, normalize

    yield normalize(x)
    yield StandardScaler(with_mean=isinstance(x, np.ndarray)).fit(x[train]).transform(x)


def _regression(rows: Any, strength: float, task: Task, end: float) -> NDArray[np.float64]:
    """Probabilities of all nodes; the solver stops when it has converged, or the time is up."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    weighted = task.recipe.optimization.class_weight == "balanced"
    model = LogisticRegression(
        C=strength,
        max_iter=_STEPS,
        warm_start=True,
        class_weight="balanced" if weighted else None,
    )
    train = task.split.train
    # On small matrices a second thread of BLAS waits for a core longer than it computes.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(_ROUNDS):
            model.fit(rows[train], task.data.y.cpu().numpy()[train])
            if model.n_iter_.max() < _STEPS or perf_counter() > end:
                break
    probabilities = np.zeros((rows.shape[0], len(task.class_names)))
    probabilities[:, model.classes_] = model.predict_proba(rows)
    return probabilities
