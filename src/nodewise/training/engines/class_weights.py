"""The weights of classes in the cross-entropy of training nodes, as the recipe has them."""

from __future__ import annotations

import torch
from torch import Tensor

from nodewise.training.recipe import Recipe


def class_weights(y: Tensor, classes: int) -> Tensor:
    """A weight for each class, n / (k n_c), so that every class counts the same.

    n is the number of labels, n_c that of class c, and k the number of classes that occur; the
    weight of others is 0.
    """
    counts = torch.bincount(y, minlength=classes).float()
    weights = counts.sum() / (counts.count_nonzero() * counts)
    return weights.where(counts > 0, 0.0)


def weighs_classes(recipe: Recipe) -> bool:
    """Whether the recipe balances classes."""
    return recipe.optimization.class_weight == "balanced"
