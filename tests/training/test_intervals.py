from __future__ import annotations

import numpy as np
import pytest

from nodewise.training.intervals import delong, difference, intervals, wilson
from nodewise.training.metrics import METRICS, metric_of
from tests.training.test_metrics import drawn


def test_wilson_is_that_of_the_books() -> None:
    # Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    books = {(81, 263): (0.2553, 0.3662), (15, 148): (0.0624, 0.1605), (0, 20): (0, 0.1611)}
    for (right, count), ends in {**books, (1, 29): (0.0061, 0.1718)}.items():
        assert wilson(right / count, count) == pytest.approx(ends, abs=1e-4)


def test_a_difference_is_that_of_the_books() -> None:
    # Newcombe (1998), Statistics in Medicine 17:873, table II, method 10.
    books = {(56, 70, 48, 80): (0.0524, 0.3339), (9, 10, 3, 10): (0.1705, 0.8090)}
    books[(10, 10, 0, 10)] = (0.6075, 1.0)
    for (one, of_one, other, of_other), ends in books.items():
        shares = [(one / of_one, wilson(one / of_one, of_one))]
        shares.append((other / of_other, wilson(other / of_other, of_other)))
        found = difference(*shares[0], *shares[1])
        assert found == pytest.approx(ends, abs=1e-4)


def test_delong_is_the_formula_over_all_pairs() -> None:
    truth, chances = drawn(2, 60, 3)
    high, low = chances[truth == 1, 1], chances[truth == 0, 1]
    pairs = (high[:, None] > low) + 0.5 * (high[:, None] == low)
    of_high, of_low = pairs.mean(1), pairs.mean(0)
    expected = of_high.var(ddof=1) / len(high) + of_low.var(ddof=1) / len(low)
    assert delong(truth, chances) == pytest.approx(expected**0.5)


@pytest.mark.parametrize("classes", [2, 4])
def test_intervals_have_the_width_of_a_bootstrap(classes: int) -> None:
    truth, chances = drawn(classes, 400, 1)
    draw, found = np.random.default_rng(0), intervals(truth, chances)
    assert found.keys() == set(METRICS)
    for metric, (low, high) in found.items():
        assert low < metric_of(metric, truth, chances) < high
        nodes = draw.integers(len(truth), size=(200, len(truth)))
        deviation = np.std([metric_of(metric, truth[i], chances[i]) for i in nodes])
        assert (high - low) / (2 * 1.96) == pytest.approx(deviation, rel=0.4)


def test_there_is_none_where_a_metric_is_undefined_or_a_class_has_one_node() -> None:
    assert "roc_auc" not in intervals(np.zeros(4, np.int64), drawn(2, 4, 0)[1])
    few = np.array([0, 0, 0, 0, 1])
    assert {"roc_auc", "average_precision"}.isdisjoint(intervals(few, drawn(2, 5, 0)[1]))
    assert list(intervals(np.zeros(1, np.int64), drawn(2, 1, 0)[1])) == ["accuracy"]
