from __future__ import annotations

import numpy as np
import pytest

from nodewise.training.metrics import most_frequent, score


def test_micro_f_leaves_out_the_most_frequent_class() -> None:
    known = np.array([0, 0, 0, 0, 1, 1, 2])
    truth = np.array([0, 0, 1, 1, 2])
    predicted = np.array([0, 1, 1, 0, 2])
    found = score(truth, predicted, known)
    # Classes 1 and 2: right 2 (one each), wrongly said 1 (a 0 called 1), missed 1 (a 1 called 0).
    assert found.micro_f == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))
    assert found.accuracy == pytest.approx(3 / 5)
    f_of_classes = (2 * 1 / (2 + 1 + 1), 2 * 1 / (2 + 1 + 1), 1.0)
    assert found.macro_f == pytest.approx(np.mean(f_of_classes))


def test_frequency_is_counted_over_all_labels_not_the_judged_ones() -> None:
    truth = predicted = np.array([1, 1, 1, 0])
    assert most_frequent(np.array([0, 0, 0, 0, 0, 1, 1, 1])) == 0
    assert score(truth, np.array([1, 1, 1, 1]), np.array([0, 0, 0, 0, 0, 1])).micro_f < 1
    assert score(truth, predicted, np.array([0, 0, 0, 0, 0, 1])).micro_f == 1


def test_perfect_and_hopeless() -> None:
    labels = np.array([0, 1, 2, 2])
    assert vars(score(labels, labels, labels)) == {"accuracy": 1, "micro_f": 1, "macro_f": 1}
    assert score(labels, (labels + 1) % 3, labels).accuracy == 0
