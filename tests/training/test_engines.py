from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor
from torch.nn import Linear, Module

from nodewise.training.engines import DeepWalkEngine, FieldEngine, FullGraphEngine, make_engine
from nodewise.training.run import logits_sha256, train_in
from nodewise.training.saved import load_run
from tests.training.tasks import small_graph, small_task


class Own(Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = Linear(7, 3)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.linear(x)  # type: ignore[no-any-return]


def test_every_kind_of_model_has_its_engine() -> None:
    task = small_task()
    assert isinstance(task.engine(), FieldEngine)
    assert isinstance(small_task("GCN-FiLM").engine(), FieldEngine)
    assert isinstance(small_task("DeepWalk").engine(), DeepWalkEngine)
    assert isinstance(make_engine(Own(), task.graph, task.recipe), FullGraphEngine)


def test_deepwalk_learns_in_one_epoch_and_comes_back_from_files(tmp_path: Path) -> None:
    record = train_in(tmp_path, small_task("DeepWalk", epochs=1, start_record_epoch=-1), 0)
    assert record["epochs"] == 1
    assert record["val_accuracy"] > 0.4  # of three classes, whose features lean apart
    logits = load_run(tmp_path).logits(small_graph())
    assert logits_sha256(logits) == record["logits_sha256"]


def test_a_model_of_ones_own_is_held_by_lambda_global() -> None:
    task = small_task(lambda_global=0.5)
    engine = make_engine(Own(), task.graph, task.recipe)
    loss, _ = engine.validate()
    weights = [weight.detach() for weight in engine.model.parameters()]
    squares = sum(float(weight.square().sum()) for weight in weights)
    torch.testing.assert_close(loss.global_weights.item(), 0.5 * 0.5 * squares)
    assert loss.local_weights == loss.modulations == 0
