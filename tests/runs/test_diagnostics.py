from __future__ import annotations

import pytest
import torch
from torch.nn import Linear

from nodewise.runs import diagnostics
from nodewise.runs.diagnostics import (
    calibration_error,
    confusion,
    diagnose,
    localization,
    reliability,
)
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


@pytest.mark.parametrize("model", ["LGCN", "LGAT", "LGIN"])
def test_localization_is_the_mean_square_of_modulations_in_one_part_or_many(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = small_task(model)
    torch.manual_seed(0)
    net = task.engine().model.eval()
    _, modulations = net(task.graph.x, task.graph.edge_index, return_modulations=True)
    first = modulations[0]
    expected = torch.stack(
        [(first.scale - 1).square().mean((1, 2)), first.shift.square().mean((1, 2))], 1
    )
    for numbers in (2**22, 100):
        monkeypatch.setattr(diagnostics, "_SCALES_AT_ONCE", numbers)
        found = localization(net, task.graph)
        assert found is not None
        torch.testing.assert_close(found, expected.detach())


@pytest.mark.parametrize("model", ["LGCN:global", "LGCN:edge", "GAT-FiLM"])
def test_a_model_without_a_node_level_has_no_localization(model: str) -> None:
    task = small_task(model)
    assert localization(task.engine().model, task.graph) is None


def test_a_model_of_the_users_has_no_localization() -> None:
    assert localization(Linear(2, 2), small_task().graph) is None
