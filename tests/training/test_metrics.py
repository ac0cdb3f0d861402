from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import metrics as sklearn_metrics

from nodewise.training.metrics import (
    METRICS,
    calibration_error,
    confusion,
    default_metric,
    most_frequent,
    record_score,
    reliability,
    score,
    validation_score,
)


def certain(predicted: NDArray[np.int64], classes: int = 3) -> NDArray[np.float64]:
    """Probabilities of one for these classes."""
    return np.eye(classes)[predicted]


def drawn(classes: int, count: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Labels of all classes, the first the most frequent, and probabilities with many ties."""
    draw = np.random.default_rng(seed)
    truth = np.sort(draw.integers(classes, size=(2, count)).min(0))
    logits = np.round(draw.normal(size=(count, classes)) + 0.7 * np.eye(classes)[truth], 1)
    return truth, np.exp(logits) / np.exp(logits).sum(1, keepdims=True)


def test_micro_f_leaves_out_the_most_frequent_class() -> None:
    known = np.array([0, 0, 0, 0, 1, 1, 2])
    truth = np.array([0, 0, 1, 1, 2])
    found = score(truth, certain(np.array([0, 1, 1, 0, 2])), known)
    # Classes 1 and 2: right 2 (one each), wrong 1 (a 0 called 1), missed 1 (a 1 called 0).
    assert found.micro_f == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))
    assert found.accuracy == pytest.approx(3 / 5)
    f_of_classes = (2 * 1 / (2 + 1 + 1), 2 * 1 / (2 + 1 + 1), 1.0)
    assert found.macro_f == pytest.approx(np.mean(f_of_classes))


def test_frequency_is_counted_over_all_labels_not_the_scored_ones() -> None:
    truth = np.array([1, 1, 1, 0])
    assert most_frequent(np.array([0, 0, 0, 0, 0, 1, 1, 1])) == 0
    known = np.array([0, 0, 0, 0, 0, 1])
    assert score(truth, certain(np.array([1, 1, 1, 1])), known).micro_f < 1
    assert score(truth, certain(truth), known).micro_f == 1


def test_perfect_and_hopeless() -> None:
    labels = np.array([0, 1, 2, 2])
    perfect = vars(score(labels, certain(labels)))
    errors = {perfect.pop(name) for name in ("log_loss", "calibration_error")}
    assert set(perfect.values()) == {1.0} and max(errors) == pytest.approx(0)
    assert score(labels, certain((labels + 1) % 3)).accuracy == 0


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_metrics_equal_those_of_scikit_learn(classes: int) -> None:
    truth, chances = drawn(classes, 300, classes)
    predicted, one = chances.argmax(1), np.eye(classes)[truth]
    found = score(truth, chances)
    rarer = classes == 2
    assert np.bincount(truth).argmin() == classes - 1
    several = (one[:, 1], chances[:, 1]) if rarer else (one, chances)
    f1 = {"average": "micro", "labels": range(1, classes)}
    expected = {
        "accuracy": sklearn_metrics.accuracy_score(truth, predicted),
        "balanced_accuracy": sklearn_metrics.balanced_accuracy_score(truth, predicted),
        "micro_f": sklearn_metrics.f1_score(truth, predicted, **f1),
        "macro_f": sklearn_metrics.f1_score(truth, predicted, average="macro"),
        "roc_auc": sklearn_metrics.roc_auc_score(*several),
        "average_precision": sklearn_metrics.average_precision_score(*several),
        "log_loss": sklearn_metrics.log_loss(truth, chances),
    }
    assert {name: vars(found)[name] for name in expected} == pytest.approx(expected)
    for metric in METRICS:
        sign = -1 if metric == "log_loss" else 1
        assert validation_score(metric, truth, chances) == pytest.approx(sign * expected[metric])


def test_average_precision_of_two_classes_is_that_of_the_rarer() -> None:
    truth, chances = drawn(2, 200, 5)
    turned = score(1 - truth, chances[:, ::-1])
    assert score(truth, chances).average_precision == pytest.approx(turned.average_precision)
    assert score(truth, chances).roc_auc == pytest.approx(turned.roc_auc)


def test_a_class_that_no_node_has_is_left_out_of_means() -> None:
    truth, chances = drawn(3, 200, 1)
    wider = np.hstack([chances, np.zeros((200, 1))])
    assert vars(score(truth, wider)) == pytest.approx(vars(score(truth, chances)))


def test_where_all_nodes_have_one_class_the_loss_decides() -> None:
    truth, chances = np.zeros(4, np.int64), drawn(2, 4, 0)[1]
    found = score(truth, chances)
    assert found.roc_auc is None and found.average_precision is None
    assert validation_score("roc_auc", truth, chances) == 0


def test_an_impossible_answer_has_a_finite_log_loss() -> None:
    assert 30 < score(np.array([0, 1]), certain(np.array([1, 1]), 2)).log_loss * 2 < 40


def test_confusion_counts_true_classes_in_rows() -> None:
    truth, predicted = np.array([0, 0, 1, 2]), np.array([0, 2, 1, 1])
    assert confusion(truth, certain(predicted)).tolist() == [[1, 0, 1], [0, 1, 0], [0, 1, 0]]


def test_confidence_that_is_deserved_has_no_error() -> None:
    chances = np.array([[0.75, 0.25]] * 4)
    assert calibration_error(reliability(np.array([0, 0, 0, 1]), chances)) == pytest.approx(0)
    assert score(np.array([1, 1, 1, 1]), chances).calibration_error == pytest.approx(0.75)


def test_bins_are_by_confidence_and_certainty_is_in_the_last() -> None:
    chances = np.array([[1.0, 0.0], [0.5, 0.5], [0.08, 0.92]])
    bins = reliability(np.array([0, 1, 0]), chances)
    assert [entry["count"] for entry in bins] == [0, 0, 0, 0, 0, 1, 0, 0, 0, 2]
    assert bins[9]["right"] == 1 and bins[9]["confidence"] == pytest.approx(1.92)


def test_the_default_is_another_metric_where_classes_differ_fourfold() -> None:
    assert default_metric(np.repeat([0, 1, -1], [39, 10, 500])) == ("accuracy", "")
    metric, reason = default_metric(np.repeat([0, 1], [40, 10]), ["no", "yes"])
    assert metric == "roc_auc" and "'no' has 4.0 times the nodes of class 'yes'" in reason
    assert default_metric(np.repeat([0, 1, 2], [8, 4, 2])).metric == "macro_f"
    assert default_metric(np.repeat([1], [8])).metric == "accuracy"


def test_a_record_is_scored_by_the_metric_of_its_recipe() -> None:
    record = {"val_accuracy": 0.9, "val_roc_auc": 0.7, "val_log_loss": 1.5}
    assert record_score(record) == 0.9
    assert record_score({**record, "settings": {"metric": "roc_auc"}}) == 0.7
    assert record_score({**record, "settings": {"metric": "log_loss"}}) == -1.5
    assert record_score({}) == -np.inf


def test_they_need_neither_torch_nor_scikit_learn() -> None:
    code = "import sys, nodewise.training.metrics as _; "
    code += "sys.exit(bool({'torch', 'sklearn'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
