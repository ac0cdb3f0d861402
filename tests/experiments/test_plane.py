from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs

from nodewise.experiments.plane import STAGES, scaled, stages


def test_stages_pull_clusters_apart_and_are_the_same_every_time() -> None:
    rows, groups = make_blobs(90, 5, centers=3, cluster_std=0.5, random_state=1)
    first, *_, last = found = list(stages(rows))
    assert len(found) == STAGES and last.shape == (90, 2)
    assert np.array_equal(last, list(stages(rows))[-1])
    near = np.linalg.norm(last[:, None] - last[None], axis=2) + 1e9 * np.eye(90)
    assert (groups[near.argmin(1)] == groups).all()
    assert not np.allclose(first, last)


def test_rows_of_any_size_are_scaled() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 3)) * 1e-7 + 4
    assert abs(scaled(rows).mean()) < 1e-6 and abs(scaled(rows).std() - 1) < 0.1
    assert not scaled(np.ones((4, 2))).any()
