from __future__ import annotations

import pytest
from scipy.stats import ttest_rel

from nodewise.report.suite_sections.paired import Difference, paired_difference


def records(values: dict[int, float]) -> list[dict[str, float]]:
    return [{"seed": seed, "test_accuracy": value} for seed, value in values.items()]


def test_the_interval_is_that_of_scipys_paired_t_test() -> None:
    one = {0: 0.80, 1: 0.83, 2: 0.81, 3: 0.86}
    other = {0: 0.79, 1: 0.80, 2: 0.82, 3: 0.81}
    found = paired_difference(records(one), records(other), "test_accuracy")
    assert found is not None
    reference = ttest_rel(list(one.values()), list(other.values())).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((reference.low, reference.high))
    assert found.mean == pytest.approx(0.02)
    assert not found.is_significant


def test_only_seeds_that_both_have_are_paired() -> None:
    found = paired_difference(
        records({0: 0.9, 1: 0.8, 7: 0.1}), records({1: 0.7, 0: 0.8, 5: 0.9}), "test_accuracy"
    )
    assert found is not None
    assert (found.pairs, found.mean) == (2, pytest.approx(0.1))
    assert found.is_significant
    assert paired_difference(records({0: 0.5}), records({0: 0.4}), "test_accuracy") is None


def test_runs_on_different_splits_are_no_pair() -> None:
    one = [{"seed": seed, "split_sha256": seed, "test_accuracy": 0.5} for seed in range(3)]
    other = [{**record, "test_accuracy": 0.4} for record in one[:2]]
    other.append({**one[2], "split_sha256": "another", "test_accuracy": 0.1})
    found = paired_difference(one, other, "test_accuracy")
    assert found is not None and found.pairs == 2


def test_a_difference_reads_in_points_and_says_whether_it_is_significant() -> None:
    one, other = {0: 0.80, 1: 0.83, 2: 0.82}, {0: 0.79, 1: 0.815, 2: 0.81}
    found = paired_difference(records(one), records(other), "test_accuracy")
    assert str(found) == "+1.2 [+0.4, +1.9] significant"
    assert found is not None and found.gaps == pytest.approx([0.01, 0.015, 0.01])


def test_what_is_nearly_zero_keeps_its_sign() -> None:
    found = Difference([-0.005] * 3, -0.005, -0.0097, -0.0003)
    assert str(found) == "-0.5 [-1.0, -0.03] significant"
