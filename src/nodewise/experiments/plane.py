"""t-SNE: rows laid out in the plane, at once or in stages that can be shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

PERPLEXITY: Final = 30.0
SEED: Final = 0
STAGES: Final = 4
_STEPS = 250  # of gradient descent in a stage; scikit-learn takes no fewer
_EXAGGERATION = 12.0  # in the first stage
Rows = NDArray[np.floating[Any]]


def plane(rows: Rows) -> list[list[float]]:
    """t-SNE's points for some rows, two decimals each; the same every time."""
    points = _tsne(len(rows), init="pca").fit_transform(scaled(rows))
    return [[round(float(x), 2), round(float(y), 2)] for x, y in points]


def stages(rows: Rows) -> Iterator[NDArray[np.float64]]:
    """t-SNE's points after each of `STAGES` stages, shape (N, 2); the same every time.

    scikit-learn reports no progress, so each stage is a call that begins where the last one ended.
    Neighbors are searched again in each, which takes little of its time.
    """
    of, points = scaled(rows), scaled(rows[:, :2]) * 1e-4
    rate = max(len(rows) / _EXAGGERATION / 4, 50.0)  # as scikit-learn chooses for all its steps
    for stage in range(STAGES):
        stretch = 1.0 if stage else _EXAGGERATION
        options = {"early_exaggeration": stretch, "learning_rate": rate, "max_iter": _STEPS}
        points = _tsne(len(rows), init=points.astype(np.float32), **options).fit_transform(of)
        yield points.astype(np.float64)


def scaled(rows: Rows) -> NDArray[np.float64]:
    """Centered rows of ordinary size.

    W_v may differ in their fifth decimals only; t-SNE starts from principal components, which need
    numbers of ordinary size.
    """
    centered = rows.astype(np.float64) - rows.mean(0)
    return np.asarray(centered / max(float(centered.std()), np.finfo(np.float64).tiny))


def _tsne(count: int, **options: Any) -> Any:
    from sklearn.manifold import TSNE

    perplexity = min(PERPLEXITY, (count - 1) / 3)
    return TSNE(2, perplexity=perplexity, random_state=SEED, n_jobs=1, **options)
