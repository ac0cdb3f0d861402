from __future__ import annotations

from dataclasses import replace

import pytest

from nodewise.report.run_sections.score_words import (
    against_controls,
    compared,
    imbalance,
    what_decided,
)
from tests.report.made_up_runs import made_up


def test_a_score_far_above_both_controls_is_better_by_points_with_an_interval() -> None:
    sentence = against_controls(made_up(controls={"majority": 0.5, "features_only": 0.3}))
    assert sentence == (
        "On 100 test nodes, accuracy is 75.0 % (95 % interval 65.7 to 82.5): better than always "
        "answering 'no' (50.0 %), by 25.0 points (11.6 to 37.2); better than the features without "
        "the graph (30.0 %), by 45.0 points (31.6 to 56.0)."
    )


def test_a_score_near_that_of_a_control_is_not_distinguishable_and_one_below_is_worse() -> None:
    sentence = against_controls(made_up(controls={"majority": 0.7, "features_only": 0.95}))
    assert sentence is not None
    assert "not distinguishable from always answering 'no' (70.0 %);" in sentence
    assert "worse than the features without the graph (95.0 %), by 20.0 points (10.3 to" in sentence


def test_a_lower_log_loss_is_better() -> None:
    record = {"test_log_loss": 0.3, "intervals": {"test_log_loss": [0.25, 0.35]}}
    control = {"test_log_loss": 0.7, "intervals": {"test_log_loss": [0.65, 0.75]}, "class": "no"}
    group = made_up(result=record, settings={"metric": "log_loss"}, controls={"majority": control})
    comparison, sentence = compared(group, "majority"), against_controls(group)
    assert comparison is not None and comparison.is_better and sentence is not None
    assert comparison.gain == pytest.approx(0.4)
    assert "log loss is 0.300 (95 % interval 0.250 to 0.350): better than" in sentence
    assert "by 0.400 (0.329 to 0.471)" in sentence


def test_what_is_not_known_is_left_out() -> None:
    assert against_controls(made_up(result={"intervals": {}})) == (
        "On 100 test nodes, accuracy is 75.0 %."
    )
    skipped = {"features_only": {"skipped": "too many features"}}
    sentence = against_controls(made_up(controls=skipped))
    assert sentence is not None and sentence.endswith(
        "the features alone were not tried (too many features)."
    )
    undefined = made_up(settings={"metric": "roc_auc"})
    assert undefined.scored_by == "accuracy"


def test_of_several_runs_it_is_the_mean() -> None:
    group = made_up(runs=3)
    last = replace(group.runs[2], result={**group.runs[2].result, "test_accuracy": 0.81})
    sentence = against_controls(replace(group, runs=[*group.runs[:2], last]))
    assert (
        sentence is not None
        and "On 100 test nodes, accuracy (mean of 3 runs) is 77.0 %" in sentence
    )


def test_a_metric_other_than_accuracy_is_explained_by_unequal_classes() -> None:
    rare, settings = ((150, 10), (20, 20)), {"metric": "roc_auc"}
    sentence = what_decided(made_up(rare, settings=settings))
    assert sentence == (
        "ROC AUC, not accuracy, decided which epoch was kept, because class 'no' has 4.0 times the "
        "nodes of class 'yes' (always answering 'no' is right for 80.0 %)."
    )
    chosen = what_decided(made_up(rare, settings=settings, choice={"sentences": []}))
    assert chosen is not None and "decided which model was chosen, because" in chosen
    sentence = what_decided(made_up(settings={"metric": "macro_f"}))
    assert sentence == "Macro-F, not accuracy, decided which epoch was kept, as the settings say."


def test_accuracy_needs_words_only_where_classes_are_unequal() -> None:
    assert what_decided(made_up()) is None
    others = {"test_balanced_accuracy": 0.6, "test_roc_auc": 0.8}
    sentence = what_decided(made_up(((150, 10), (20, 20)), result=others))
    assert sentence is not None and sentence.startswith(
        "Accuracy decided which epoch was kept, although"
    )
    assert sentence.endswith("look at balanced accuracy (60.0 %) and ROC AUC (80.0 %), too.")


@pytest.mark.parametrize(("most", "unequal"), [(39, False), (40, True)])
def test_unequal_is_four_times_as_many_and_classes_without_nodes_do_not_count(
    most: int, unequal: bool
) -> None:
    group = made_up(((most, 0, 0), (0, 10, 0), (0, 0, 0)), ("a", "b", "c"))
    assert (imbalance(group) is not None) is unequal
    assert imbalance(made_up(((50, 0), (0, 0)))) is None
