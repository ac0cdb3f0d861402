from __future__ import annotations

import pytest
import torch
from torch.nn.functional import cross_entropy

from tests.training.tasks import weighted_task


@pytest.mark.parametrize("model", ["LGCN", "LGIN", "GCN-FiLM"])
def test_training_and_prediction_see_the_same_weights_of_edges(model: str) -> None:
    torch.manual_seed(0)
    task = weighted_task(model)
    engine = task.engine()
    val = torch.from_numpy(task.split.val.copy())
    expected = cross_entropy(engine.logits()[val], task.data.y[val])
    assert engine.validate()[0].cross_entropy.item() == pytest.approx(expected.item(), rel=1e-4)
    unweighted = engine.model(task.graph.x, task.graph.edge_index)
    assert not torch.allclose(unweighted, engine.logits())
