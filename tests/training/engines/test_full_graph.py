from __future__ import annotations

import torch

from nodewise.training.engines.make import make_engine
from tests.training.tasks import OwnModel, small_task


def test_a_model_of_ones_own_is_held_by_lambda_global() -> None:
    task = small_task(lambda_global=0.5)
    engine = make_engine(OwnModel(), task.graph, task.recipe)
    loss = engine.validate().loss
    weights = [weight.detach() for weight in engine.model.parameters()]
    squares = sum(float(weight.square().sum()) for weight in weights)
    torch.testing.assert_close(loss.global_weights.item(), 0.5 * 0.5 * squares)
    assert loss.local_weights == loss.modulations == 0
