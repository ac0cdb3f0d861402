from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy
from torch_geometric.nn import GCNConv

from nodewise.errors import InputError
from nodewise.training.engines import check_weights
from nodewise.training.run import Task
from tests.training.tasks import small_task


def weighted_task(model: str = "LGCN") -> Task:
    task = small_task(model)
    data = task.data.clone()
    data.edge_weight = torch.rand(
        data.edge_index.size(1), generator=torch.Generator().manual_seed(1)
    )
    return replace(task, data=data)


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


def test_models_that_would_leave_weights_out_refuse_them() -> None:
    weight = torch.ones(3)
    for model in (weighted_task("LGCN").fresh_model(), small_task("LGAT").fresh_model()):
        check_weights(model, None)
    with pytest.raises(InputError, match="does not use the weights"):
        weighted_task("LGAT").fresh_model()
    with pytest.raises(InputError, match="does not use the weights"):
        check_weights(GCNConv(2, 2), weight)
