from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import Linear, Module
from torch.nn.functional import cross_entropy
from torch_geometric.nn import GCNConv

from nodewise.data.fingerprints import logits_sha256
from nodewise.data.splits.split import Split
from nodewise.errors import InputError
from nodewise.runs.run import Task, train_in
from nodewise.runs.saved import load_run
from nodewise.training.engines import (
    FieldEngine,
    FullGraphEngine,
    OnceEngine,
    check_weights,
    class_weights,
    make_engine,
)
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
    assert isinstance(small_task("DeepWalk").engine(), OnceEngine)
    assert isinstance(small_task("Planetoid").engine(), OnceEngine)
    assert isinstance(small_task("Boosting").engine(), OnceEngine)
    assert isinstance(small_task("PyG-GCN-64").engine(), FullGraphEngine)
    assert isinstance(make_engine(Own(), task.graph, task.recipe), FullGraphEngine)


@pytest.mark.medium
@pytest.mark.parametrize("model", ["DeepWalk", pytest.param("Planetoid", marks=pytest.mark.slow)])
def test_models_of_one_epoch_learn_and_come_back_from_files(tmp_path: Path, model: str) -> None:
    record = train_in(tmp_path, small_task(model, epochs=1, start_record_epoch=-1), 0)
    assert record["epochs"] == 1
    assert record["val_accuracy"] > 0.4  # of three classes, whose features lean apart
    logits = load_run(tmp_path).logits(small_graph())
    assert logits_sha256(logits) == record["logits_sha256"]


@pytest.mark.parametrize("model", ["Majority", "Logistic", "Boosting", "Boosting-neighbors"])
def test_models_of_scikit_learn_are_runs_like_others(tmp_path: Path, model: str) -> None:
    settings = {"epochs": 1, "start_record_epoch": -1, "metric": "macro_f"}
    task = small_task(model, class_weight="balanced", **settings)
    record = train_in(tmp_path, task, 0)
    assert record["epochs"] == 1 and record["parameters"] == 0
    assert (record["val_roc_auc"] > 0.5) == (model != "Majority")
    logits = load_run(tmp_path).logits(small_graph())
    assert logits_sha256(logits) == record["logits_sha256"]
    assert train_in(tmp_path / "again", task, 0)["logits_sha256"] == record["logits_sha256"]
    weighted_task(model).fresh_model()


def test_a_model_of_ones_own_is_held_by_lambda_global() -> None:
    task = small_task(lambda_global=0.5)
    engine = make_engine(Own(), task.graph, task.recipe)
    loss = engine.validate().loss
    weights = [weight.detach() for weight in engine.model.parameters()]
    squares = sum(float(weight.square().sum()) for weight in weights)
    torch.testing.assert_close(loss.global_weights.item(), 0.5 * 0.5 * squares)
    assert loss.local_weights == loss.modulations == 0


def test_balanced_classes_count_the_same_and_validation_is_not_weighted() -> None:
    y = torch.tensor([0, 0, 0, 2])
    assert class_weights(y, 4).tolist() == pytest.approx([4 / 6, 0, 2, 0])
    for settings in ({}, {"consistency": 0.1}):
        plain = small_task("GCN", lambda_global=0.0, input_dropout=0.0, **settings)
        weighted = small_task(
            "GCN", lambda_global=0.0, input_dropout=0.0, class_weight="balanced", **settings
        )
        few = Split(plain.split.train[[0, 1, 2, 3, 5, 10]], plain.split.val, plain.split.test)
        torch.manual_seed(0)
        engines = [replace(task, split=few).engine() for task in (plain, weighted)]
        engines[1].model.load_state_dict(engines[0].model.state_dict())
        nodes = torch.from_numpy(few.train.copy())
        logits, y = engines[1].logits()[nodes], plain.data.y[nodes]
        each = cross_entropy(logits, y, reduction="none")
        of_classes = [each[y == k].mean() for k in y.unique()]
        assert engines[1].validate().loss == engines[0].validate().loss
        found = engines[1].step().cross_entropy
        torch.testing.assert_close(found, torch.stack(of_classes).mean())


def test_a_model_of_one_epoch_refuses_weights_of_classes() -> None:
    with pytest.raises(InputError, match="class_weight"):
        small_task("DeepWalk", class_weight="balanced").engine()


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
