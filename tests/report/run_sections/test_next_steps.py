from __future__ import annotations

from typing import Any

import pytest

from nodewise.experiments.auto.race import UNTRIED
from nodewise.report.run_sections.next_steps import (
    auto,
    check_labels,
    class_weight,
    more_epochs,
    more_labels,
    more_nodes,
    more_seeds,
    more_time,
    next_steps,
    no_graph,
    other_metric,
    temperature,
)
from tests.report.made_up_runs import bins, made_up

MANY = ((4000, 1000), (1500, 3500))
CHOICE: dict[str, Any] = {"candidates": [{"outcome": "chosen"}], "sentences": []}
FINE = made_up(MANY, controls={"majority": 0.5, "features_only": 0.6}, choice=CHOICE, runs=2)


@pytest.mark.parametrize(
    "rule",
    [
        auto,
        check_labels,
        class_weight,
        more_epochs,
        more_labels,
        more_nodes,
        more_seeds,
        more_time,
        no_graph,
        other_metric,
    ],
)
def test_where_all_is_well_a_rule_is_silent(rule: Any) -> None:
    assert rule(FINE) is None


def test_epochs_are_too_few_where_the_last_ones_were_the_best() -> None:
    late = {"epochs": 60, "best_epoch": 56}
    sentence = more_epochs(made_up(result=late, settings={"epochs": 60}))
    assert sentence is not None and "`--set epochs=240`: epoch 56 of 60 was kept" in sentence
    assert more_epochs(made_up(result=late, settings={"epochs": 500})) is None  # patience ended it
    early = {"epochs": 60, "best_epoch": 20}
    assert more_epochs(made_up(result=early, settings={"epochs": 60})) is None
    refit = {**late, "refit_epochs": 60}
    assert more_epochs(made_up(result=refit, settings={"epochs": 60})) is None


def test_controls_that_are_as_good_say_what_to_doubt() -> None:
    nothing = made_up(MANY, controls={"majority": 0.745, "features_only": 0.75})
    assert "more than the majority class" in str(check_labels(nothing))
    assert no_graph(nothing) is None
    features = made_up(MANY, controls={"majority": 0.5, "features_only": 0.75})
    assert check_labels(features) is None and "`-m MLP`" in str(no_graph(features))


def test_unequal_classes_need_another_metric_and_weights() -> None:
    rare = ((1500, 100), (320, 80))
    group = made_up(rare)
    assert "`--metric roc_auc`" in str(other_metric(group))
    assert "class 'yes' matters" in str(class_weight(group))
    known = {"metric": "roc_auc", "class_weight": "balanced"}
    assert other_metric(made_up(rare, settings=known)) is None
    assert class_weight(made_up(rare, settings=known)) is None


def test_bad_probabilities_are_calibrated_once() -> None:
    wrong = {"reliability": bins(10_000, 0.95, 0.75)}
    assert "`--temperature`" in str(temperature(made_up(MANY, diagnostics=wrong)))
    settings = {"calibration": "temperature"}
    assert temperature(made_up(MANY, settings=settings, diagnostics=wrong)) is None


def test_few_labels_few_nodes_and_little_time_are_said() -> None:
    assert "Label more nodes" in str(more_labels(made_up(diagnostics={"train_accuracy": 1.0})))
    assert "`--split-seed`" in str(more_nodes(made_up()))
    tried = {"candidates": [{"outcome": UNTRIED}, {"outcome": "chosen"}], "sentences": []}
    assert "1 of 2 candidates were not tried" in str(more_time(made_up(choice=tried)))


def test_there_are_at_most_three_and_always_one() -> None:
    late = {"epochs": 60, "best_epoch": 56}
    settings, learned = {"epochs": 60}, {"train_accuracy": 1.0}
    assert len(next_steps(made_up(result=late, settings=settings, diagnostics=learned))) == 3
    assert next_steps(made_up(MANY))[-2:] == [auto(made_up()), more_seeds(made_up())]
