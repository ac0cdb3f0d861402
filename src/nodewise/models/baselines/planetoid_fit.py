"""Planetoid from start to end: validation chooses the step, and the better of the two forms."""

from __future__ import annotations

from copy import deepcopy
from typing import NamedTuple

import torch
from torch import Tensor

from nodewise.models.baselines.planetoid import Planetoid, PlanetoidI, PlanetoidT
from nodewise.models.baselines.planetoid_training import PlanetoidTrainer, Schedule
from nodewise.ops.sparse import Features, SparseRows


class PlanetoidFit(NamedTuple):
    """A trained model, and the step at which its validation accuracy was best."""

    val_accuracy: float
    step: int
    model: Planetoid


def fit_planetoid(
    trainer: PlanetoidTrainer, val: Tensor, *, steps: int = 150, patience: int = 40
) -> PlanetoidFit:
    """Train until validation accuracy has not risen for `patience` steps; keep the best model."""
    best, kept = PlanetoidFit(-1.0, 0, trainer.model), {}
    for step in range(1, steps + 1):
        trainer.step()
        accuracy = _accuracy(trainer, val)
        if accuracy > best.val_accuracy:
            best = PlanetoidFit(accuracy, step, trainer.model)
            kept = deepcopy(trainer.model.state_dict())
        if step - best.step >= patience:
            break
    trainer.model.load_state_dict(kept)
    return best


@torch.no_grad()
def _accuracy(trainer: PlanetoidTrainer, nodes: Tensor) -> float:
    trainer.model.eval()
    right = trainer.model(trainer.x).argmax(1)[nodes] == trainer.y[nodes]
    return float(right.double().mean())


def fit_better_planetoid(
    x: Features,
    edge_index: Tensor,
    y: Tensor,
    train: Tensor,
    val: Tensor,
    *,
    schedule: Schedule | None = None,
    **fit: int,
) -> PlanetoidFit:
    """Train both forms and return the one that is better in validation, on a tie the transductive.

    Args:
        x: Features of all nodes, dense or `torch.sparse_csr`.
        edge_index: The edges, taken as undirected.
        y: Labels of all nodes.
        train: The labeled nodes, a mask or node numbers.
        val: The nodes that choose the step and the form, a mask or node numbers.
        schedule: How much of each loss, and how fast.
        **fit: `steps` and `patience` of `fit_planetoid`.
    """
    rows, width = (x.num_rows, x.width) if isinstance(x, SparseRows) else x.shape
    sizes = (width, int(y.max()) + 1, rows)
    fits = []
    for form in (PlanetoidT, PlanetoidI):
        trainer = PlanetoidTrainer(form(*sizes), x, edge_index, y, train, schedule)
        fits.append(fit_planetoid(trainer, val, **fit))
    return max(fits, key=lambda one: one.val_accuracy)
