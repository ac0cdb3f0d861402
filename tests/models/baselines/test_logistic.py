from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from nodewise.data.datasets import load_dataset
from nodewise.errors import InputError
from nodewise.models.baselines.deepwalk import DeepWalk
from nodewise.models.baselines.logistic import fit_logistic


class Case(NamedTuple):
    model: DeepWalk
    x: Tensor
    y: Tensor
    train: Tensor
    val: Tensor


def case(classes: int, out_channels: int | None = None) -> Case:
    """Embedding and features that both know something of the class."""
    torch.manual_seed(0)
    y = torch.arange(90) % classes
    model = DeepWalk(6, out_channels or classes, 90, dimension=5)
    model.embedding.copy_(5 + torch.randn(90, 5) + torch.eye(5)[y])
    x = (torch.randn(90, 6) + 2 * torch.eye(6)[y]).relu()
    return Case(model, x, y, torch.arange(30), torch.arange(30, 60))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_written_weights_are_scikit_learns(classes: int) -> None:
    model, x, y, train, val = case(classes)
    fit = fit_logistic(model, x, y, train, val, strengths=[10.0], shares=[2.0])
    embedding = model.embedding - model.embedding.mean(0)
    parts = [part / part.square().sum(1).mean().sqrt() for part in (embedding, x)]
    rows = torch.cat([parts[0], 2 * parts[1]], 1).double().numpy()
    reference = LogisticRegression(C=10.0, max_iter=2000).fit(rows[train], y[train].numpy())
    ours = model(x).softmax(1).detach().numpy()
    np.testing.assert_allclose(ours, reference.predict_proba(rows), atol=1e-3)
    assert fit.val_accuracy == reference.score(rows[val], y[val].numpy())


def test_the_best_on_validation_is_chosen_and_written() -> None:
    model, x, y, train, val = case(3)
    grid = [(c, share) for c in (1e-4, 1.0) for share in (0.01, 1.0)]
    each = [fit_logistic(*case(3), strengths=[c], shares=[share]) for c, share in grid]
    chosen = fit_logistic(model, x, y, train, val, strengths=[1e-4, 1.0], shares=[0.01, 1.0])
    assert len({fit.val_accuracy for fit in each}) > 1
    assert chosen == max(each, key=lambda fit: fit.val_accuracy)
    right = (model(x).argmax(1) == y)[val]
    assert right.float().mean().item() == pytest.approx(chosen.val_accuracy)


def test_test_labels_play_no_part() -> None:
    first, second = case(3), case(3)
    second.y[60:] = 0
    assert fit_logistic(*first) == fit_logistic(*second)
    assert torch.equal(first.model.linear.weight, second.model.linear.weight)


def test_masks_and_sparse_features_give_the_same() -> None:
    model, x, y, train, val = case(3)
    chosen = fit_logistic(model, x, y, train, val)
    expected = model(x)
    masks = [torch.zeros(90, dtype=torch.bool).index_fill(0, index, True) for index in (train, val)]
    assert fit_logistic(model, x.to_sparse_csr(), y, *masks) == chosen
    torch.testing.assert_close(model(x), expected)


def test_a_class_without_training_nodes_has_no_probability() -> None:
    model, x, y, train, val = case(3, out_channels=4)
    fit_logistic(model, x, y, train, val)
    assert model(x).softmax(1)[:, 3].max() < 1e-6


def test_an_empty_grid_is_refused() -> None:
    with pytest.raises(InputError, match="nothing to try"):
        fit_logistic(*case(3), strengths=[])


@pytest.mark.slow
def test_cora_is_no_worse_than_published(data_root: Path) -> None:
    data = load_dataset("cora", root=data_root)
    x = data.x / data.x.sum(1, keepdim=True)
    model = DeepWalk(data.num_features, 7, data.num_nodes)
    model.embed(data.edge_index, seed=0)
    fit_logistic(model, x, data.y, data.train_mask, data.val_mask)
    right = model(x).argmax(1) == data.y
    assert right[data.test_mask].double().mean() > 0.738 - 0.03
