from __future__ import annotations

import numpy as np
import pytest

from nodewise.runs.curves import DRAWN, curves_of
from nodewise.training.curves import POINTS
from nodewise.training.metrics import metric_of
from tests.training.test_metrics import drawn


def test_two_classes_have_a_line_each_and_the_rarer_a_roc() -> None:
    truth, chances = drawn(2, 90, 0)
    found = curves_of(truth, chances)
    assert [about["class"] for about in found["classes"]] == [0, 1]
    for about in found["classes"]:
        k = about["class"]
        assert about["share"] == pytest.approx((truth == k).mean(), abs=1e-4)
        assert len(about["precision"]) == POINTS
        average = metric_of("average_precision", truth, chances, [k])
        assert about["average_precision"] == average
        assert np.mean(about["precision"]) == pytest.approx(average, abs=0.03)
    rarer = int(np.bincount(truth).argmin())
    assert found["roc"]["class"] == rarer and len(found["roc"]["true_shares"]) == POINTS + 1


def test_of_many_classes_the_most_frequent_are_drawn_and_all_are_scored() -> None:
    truth = np.repeat(np.arange(12), np.arange(1, 13))
    chances = np.random.default_rng(0).dirichlet(np.ones(13), len(truth))
    found = curves_of(truth, chances)
    assert [about["class"] for about in found["classes"]] == list(range(12))  # 13 has no node
    with_line = {about["class"] for about in found["classes"] if "precision" in about}
    assert with_line == set(range(12 - DRAWN, 12)) and "roc" not in found


def test_nodes_of_one_class_have_no_curve() -> None:
    assert curves_of(np.zeros(4, np.int64), drawn(2, 4, 0)[1]) == {"classes": []}
