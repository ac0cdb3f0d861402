from __future__ import annotations

import pytest
import torch

from nodewise.runs.diagnostics import calibration_error, confusion, diagnose, reliability
from tests.training.tasks import small_task


def test_confusion_counts_true_classes_in_rows() -> None:
    truth, predicted = torch.tensor([0, 0, 1, 2]), torch.tensor([0, 2, 1, 1])
    assert confusion(truth, predicted, 3).tolist() == [[1, 0, 1], [0, 1, 0], [0, 1, 0]]


def test_confidence_that_is_deserved_has_no_error() -> None:
    chances = torch.tensor([[0.75, 0.25]] * 4)
    assert calibration_error(reliability(chances, torch.tensor([0, 0, 0, 1]))) == pytest.approx(0)
    assert calibration_error(reliability(chances, torch.tensor([1, 1, 1, 1]))) == pytest.approx(
        0.75
    )


def test_bins_are_by_confidence_and_certainty_is_in_the_last() -> None:
    chances = torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.08, 0.92]])
    bins = reliability(chances, torch.tensor([0, 1, 0]))
    assert [entry["count"] for entry in bins] == [0, 0, 0, 0, 0, 1, 0, 0, 0, 2]
    assert bins[9]["right"] == 1 and bins[9]["confidence"] == pytest.approx(1.92)


def test_the_extremes_are_named_and_in_order() -> None:
    task = small_task()
    torch.manual_seed(0)
    engine = task.engine()
    ids = [f"n{i}" for i in range(60)]
    found = diagnose(engine.model, task.graph, engine.logits(), ["a", "b", "c"], ids)
    most, least = found["localization"]["most"], found["localization"]["least"]
    distances = [node["distance"] for node in (*most, *reversed(least))]
    assert len(distances) == 20 and distances == sorted(distances, reverse=True)
    first = most[0]
    assert first["distance"] == pytest.approx(first["scale"] + first["shift"])
    node = ids.index(first["id"])
    assert first["label"] == "abc"[int(task.data.y[node])]
    assert first["neighbors"] == int((task.data.edge_index[1] == node).sum())
    assert sum(found["localization"]["histogram"]["counts"]) == 60
