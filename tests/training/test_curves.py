from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import precision_recall_curve, roc_auc_score, roc_curve

from nodewise.training.curves import POINTS, false_shares, precisions, recalls, true_shares


def drawn(nodes: int, digits: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes with a score that says something, of which few digits are kept, so that some tie."""
    random = np.random.default_rng(nodes)
    positive = random.random(nodes) < 0.3
    return positive, np.round(0.3 * positive + random.random(nodes), digits)


@pytest.mark.parametrize(("nodes", "digits"), [(40, 1), (300, 2), (1000, 9)])
def test_precision_is_that_of_the_highest_threshold_that_reaches_the_recall(
    nodes: int, digits: int
) -> None:
    positive, scores = drawn(nodes, digits)
    found = precisions(positive, scores)
    precision, recall, _ = precision_recall_curve(positive, scores)  # recall falls
    for i, wanted in enumerate(recalls()):
        assert found[i] == pytest.approx(precision[recall >= wanted - 1e-9][-1])
    assert found[-1] >= positive.mean()


@pytest.mark.parametrize(("nodes", "digits"), [(40, 1), (300, 2), (1000, 9)])
def test_the_roc_passes_through_every_threshold_at_a_place(nodes: int, digits: int) -> None:
    positive, scores = drawn(nodes, digits)
    found = true_shares(positive, scores)
    false, true, _ = roc_curve(positive, scores, drop_intermediate=False)
    np.testing.assert_allclose(found, np.interp(false_shares(), false, true))
    assert np.trapezoid(found, false_shares()) == pytest.approx(
        roc_auc_score(positive, scores), abs=1 / POINTS
    )
    assert found[-1] == 1 and (np.diff(found) >= 0).all()


def test_a_score_that_tells_the_class_has_perfect_curves() -> None:
    positive = np.arange(10) < 3
    assert (precisions(positive, positive.astype(float)) == 1).all()
    assert (true_shares(positive, positive.astype(float)) == 1).all()
