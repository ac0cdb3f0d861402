from __future__ import annotations

import pytest
import torch
from torch_geometric.nn import GCNConv

from nodewise.errors import InputError
from nodewise.training.engines.model_inputs import check_weights
from tests.training.tasks import small_task, weighted_task


def test_models_that_would_leave_weights_out_refuse_them() -> None:
    weight = torch.ones(3)
    for model in (weighted_task("LGCN").fresh_model(), small_task("LGAT").fresh_model()):
        check_weights(model, None)
    with pytest.raises(InputError, match="does not use the weights"):
        weighted_task("LGAT").fresh_model()
    with pytest.raises(InputError, match="does not use the weights"):
        check_weights(GCNConv(2, 2), weight)
