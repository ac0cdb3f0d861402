from __future__ import annotations

import pytest

from nodewise.report.run_sections.trust_words import (
    calibration,
    few_nodes,
    hardest_class,
    lowest_recall,
    overfitting,
    overfitting_or_few_nodes,
    probabilities,
)
from tests.report.made_up_runs import bins, made_up

MANY = ((4000, 1000), (1500, 3500))


@pytest.mark.parametrize(("learned", "overfits"), [(0.84, False), (0.86, True), (1.0, True)])
def test_overfitting_is_a_gap_of_ten_points(learned: float, overfits: bool) -> None:
    sentence = overfitting(made_up(MANY, diagnostics={"train_accuracy": learned}))
    assert (sentence is not None) is overfits
    if learned == 1:
        assert sentence == (
            "The model overfits: 100.0 % of the training nodes are right, but 75.0 % of the test "
            "nodes."
        )


def test_a_gap_within_the_interval_is_no_overfitting() -> None:
    few = ((4, 1), (2, 3))  # 7 of 10, up to 89 %
    assert overfitting(made_up(few, diagnostics={"train_accuracy": 0.88})) is None
    assert overfitting(made_up(few)) is None  # a run of an earlier release


def test_few_nodes_make_an_interval_of_more_than_ten_points() -> None:
    assert few_nodes(made_up(MANY)) is None
    sentence = few_nodes(made_up())
    assert sentence == (
        "100 test nodes are few: the interval of accuracy is 17 points wide, and differences of a "
        "few points are within chance."
    )
    learned = {"train_accuracy": 1.0}
    assert overfitting_or_few_nodes(made_up()) == sentence
    both = overfitting_or_few_nodes(made_up(diagnostics=learned))
    assert both is not None and both.startswith("The model overfits")


def test_the_hardest_class_has_the_lowest_recall() -> None:
    counts = ((90, 5, 5), (10, 80, 10), (60, 20, 20))
    assert hardest_class(made_up(counts, ("a", "b", "c"))) == (
        "Class 'c' has the lowest recall: 20.0 % of its 100 test nodes; most others are predicted "
        "as 'a'."
    )
    several = lowest_recall(made_up(counts, ("a", "b", "c"), runs=3))
    assert several is not None and (several.count, several.recall) == (100, 0.2)


def test_a_class_that_is_a_little_worse_is_not_named() -> None:
    counts = ((90, 10), (12, 88))
    assert hardest_class(made_up(counts)) == (
        "No class has a significantly lower recall than the others."
    )
    clear = tuple(tuple(100 * count for count in row) for row in counts)
    sentence = hardest_class(made_up(clear))
    assert sentence is not None and "'yes' has the lowest recall: 88.0 %" in sentence
    assert hardest_class(made_up(((90, 10), (0, 0)))) is None


def sentence_of(count: int, confidence: float, accuracy: float) -> str:
    group = made_up(diagnostics={"reliability": bins(count, confidence, accuracy)})
    sentence = probabilities(group)
    assert sentence is not None
    return sentence


def test_probabilities_are_believed_up_to_a_calibration_error_of_five_percent() -> None:
    good = "Probabilities can be taken as they are: calibration error 4.0 %."
    assert sentence_of(10_000, 0.84, 0.80) == good
    assert sentence_of(10_000, 0.88, 0.80) == (
        "Take probabilities with care: calibration error 8.0 %; they are too high, 88.0 % on "
        "average, and 80.0 % are right."
    )
    assert sentence_of(10_000, 0.50, 0.80) == (
        "Do not believe probabilities: calibration error 30.0 %; they are too low, 50.0 % on "
        "average, and 80.0 % are right."
    )


def test_an_error_that_chance_explains_says_nothing_about_probabilities() -> None:
    group = made_up(diagnostics={"reliability": bins(25, 0.5, 0.6)})
    found = calibration(group)
    # The mean distance of the share of 25 coins from a half: C(24, 12) / 2^25.
    assert found is not None and found.by_chance == pytest.approx(0.0806, abs=0.002)
    assert found.is_open
    assert sentence_of(25, 0.5, 0.6) == (
        "100 test nodes are too few to say whether probabilities can be believed: calibration "
        "error 10.0 %, of which chance alone would give 8.0 %."
    )
