from __future__ import annotations

import pytest
import torch
from torch.nn import Linear

from nodewise.runs.localization import localization
from nodewise.training import localization as module
from tests.training.tasks import small_task


@pytest.mark.parametrize("model", ["LGCN", "LGAT", "LGIN"])
def test_it_is_what_the_modulations_say_however_it_is_cut(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = small_task(model)
    torch.manual_seed(0)
    net = task.engine().model.eval()
    _, made = net(task.graph.x, task.graph.edge_index, return_modulations=True)
    first = made[0]
    expected = torch.stack(
        [(first.scale - 1).square().mean((1, 2)), first.shift.square().mean((1, 2))], 1
    )
    for numbers in (2**22, 100):
        monkeypatch.setattr(module, "_NUMBERS", numbers)
        found = localization(net, task.graph)
        assert found is not None
        torch.testing.assert_close(found, expected.detach())


@pytest.mark.parametrize("model", ["LGCN:global", "LGCN:edge", "GAT-FiLM"])
def test_a_model_without_a_node_level_has_none(model: str) -> None:
    task = small_task(model)
    assert localization(task.engine().model, task.graph) is None


def test_a_model_that_is_not_ours_has_none() -> None:
    assert localization(Linear(2, 2), small_task().graph) is None
