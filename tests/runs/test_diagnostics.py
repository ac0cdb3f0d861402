from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import Linear

from nodewise.data.splits.split import Split
from nodewise.runs import diagnostics
from nodewise.runs import local_map as module
from nodewise.runs.diagnostics import diagnose, localization
from nodewise.runs.local_map import local_map
from nodewise.runs.run import train
from nodewise.runs.task import Refit
from nodewise.training.metrics import METRICS
from tests.training.tasks import small_task


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


def test_the_map_has_the_nodes_and_the_global_weight_on_principal_axes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = small_task("LGAT")
    torch.manual_seed(0)
    net = task.engine().model.eval()
    modulation = diagnostics.first_modulation(net, task.graph.inputs)
    assert modulation is not None
    found = local_map(modulation, torch.arange(60) % 3)
    rows = torch.cat([(modulation.scale - 1).flatten(1), modulation.shift.flatten(1)], 1).detach()
    middle = rows.mean(0)
    expected = torch.cat([rows, torch.zeros_like(rows[:1])]).double() - middle
    _, _, axes = torch.linalg.svd(expected[:-1], full_matrices=False)
    expected = (expected @ axes[:2].T).abs()
    points = torch.tensor([*(at for *at, _ in found["nodes"]), found["global"]]).abs()
    torch.testing.assert_close(points, (expected / expected.max()).float(), atol=1e-3, rtol=0)
    assert [k for *_, k in found["nodes"]] == [i % 3 for i in range(60)]
    monkeypatch.setattr(module, "_NODES", 20)
    assert len(local_map(modulation, torch.arange(60))["nodes"]) == 20


def test_what_a_refitted_model_has_learned_is_not_scored() -> None:
    task = small_task("GCN")
    for split, part in ((task.split, "test"), (Split(task.split.train, task.split.val, []), None)):  # type: ignore[arg-type]
        refitted = replace(task, split=split, refit=Refit(2, {"val_accuracy": 0.5}))
        engine, record, logits = train(refitted, 0)
        assert logits is not None
        found = diagnose(engine.model, refitted.graph, logits, ["a", "b", "c"], range(60))
        assert found.get("part") == part and ("confusion" in found) is (part is not None)
        assert 0 <= found["train_accuracy"] <= 1
        assert set(record["intervals"]) == {f"{part}_{name}" for name in METRICS if part}


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
