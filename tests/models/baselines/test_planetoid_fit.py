from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from nodewise.data.datasets import load_dataset
from nodewise.models.baselines import planetoid_fit
from nodewise.models.baselines.planetoid import Planetoid, PlanetoidI, PlanetoidT
from nodewise.models.baselines.planetoid_fit import (
    PlanetoidFit,
    fit_better_planetoid,
    fit_planetoid,
)
from nodewise.models.baselines.planetoid_training import PlanetoidTrainer
from tests.models.baselines.test_planetoid_training import EDGES, QUICK, TRAIN, X, Y

VAL = torch.tensor([2, 3, 4, 10, 11, 12])


class Scripted(PlanetoidTrainer):
    """Predicts so many validation nodes rightly after each step, whatever it learned."""

    def __init__(self, right: list[int]) -> None:
        model = PlanetoidI(16, 2, 16)
        for weight in model.parameters():
            weight.data.zero_()
        super().__init__(model, X, EDGES, Y, TRAIN)
        self.right, self.steps = right, 0

    def step(self) -> tuple[float, float]:
        self.steps += 1
        # Nodes whose own column is one are called class 1; those of class 0 are right by default.
        chosen = VAL[Y[VAL] == 1][: self.right[self.steps - 1]]
        self.model.of_features.weight.data.zero_()[0, chosen] = 1.0
        self.model.classifier.weight.data[1, 0] = 1.0
        return 0.0, 0.0


def accuracy(model: torch.nn.Module, nodes: Tensor) -> float:
    return (model.eval()(X).argmax(1) == Y)[nodes].double().mean().item()


def test_the_first_best_step_is_kept() -> None:
    trainer = Scripted([0, 1, 2, 1, 2, 0])
    fit = fit_planetoid(trainer, VAL, steps=6)
    assert (fit.step, trainer.steps) == (3, 6)
    assert fit.val_accuracy == accuracy(fit.model, VAL) == pytest.approx(5 / 6)


def test_patience_ends_the_run() -> None:
    trainer = Scripted([1, 0, 0, 0, 3])
    assert fit_planetoid(trainer, VAL, steps=5, patience=2).step == 1
    assert trainer.steps == 3


@pytest.mark.parametrize("winner", [PlanetoidT, PlanetoidI])
def test_validation_chooses_between_the_two_forms(
    winner: type[Planetoid], monkeypatch: pytest.MonkeyPatch
) -> None:
    def known(trainer: PlanetoidTrainer, val: Tensor, **options: int) -> PlanetoidFit:
        assert val is VAL and trainer.schedule is QUICK and options == {"steps": 5}
        return PlanetoidFit(0.5 + isinstance(trainer.model, winner) / 4, 1, trainer.model)

    monkeypatch.setattr(planetoid_fit, "fit_planetoid", known)
    best = fit_better_planetoid(X, EDGES, Y, TRAIN, VAL, schedule=QUICK, steps=5)
    assert isinstance(best.model, winner)


def test_both_forms_are_trained_on_the_graph_that_is_given() -> None:
    torch.manual_seed(0)
    best = fit_better_planetoid(X, EDGES, Y, TRAIN, VAL, schedule=QUICK, steps=10)
    assert accuracy(best.model, VAL) == best.val_accuracy > 0.8


@pytest.mark.slow
def test_cora_is_no_worse_than_published(data_root: Path) -> None:
    data = load_dataset("cora", root=data_root)
    x = (data.x / data.x.sum(1, keepdim=True)).to_sparse_csr()
    torch.manual_seed(0)
    best = fit_better_planetoid(x, data.edge_index, data.y, data.train_mask, data.val_mask)
    right = best.model.eval()(x).argmax(1) == data.y
    assert right[data.test_mask].double().mean() > 0.661 - 0.03
