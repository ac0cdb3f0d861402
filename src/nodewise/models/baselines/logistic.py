"""Logistic regression on [embedding, features], its strength chosen on the validation nodes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from nodewise.errors import InputError
from nodewise.models.baselines.deepwalk import DeepWalk
from nodewise.ops.sparse import Features, SparseRows, as_features, take_rows

STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
SHARES = (0.25, 0.5, 1.0, 2.0, 4.0)


class LogisticFit(NamedTuple):
    """The settings that were chosen, and their accuracy.

    Attributes:
        val_accuracy: The accuracy on the validation nodes.
        strength: scikit-learn's C: the larger, the freer the weights.
        share: The weight of the features relative to the embedding, once the rows of both have
            norm one.
    """

    val_accuracy: float
    strength: float
    share: float


def fit_logistic(
    model: DeepWalk,
    x: Features,
    y: Tensor,
    train: Tensor,
    val: Tensor,
    *,
    strengths: Sequence[float] = STRENGTHS,
    shares: Sequence[float] = SHARES,
) -> LogisticFit:
    """Fit the classifier on the training nodes and write it into the model.

    The embedding is centered, and both parts are divided by the root mean square norm of their
    rows. Of equally good settings the first counts: the strongest penalty, the smallest share.

    Args:
        model: A model with an embedding; its `linear` is written.
        x: Features of all nodes, dense or `torch.sparse_csr`.
        y: Labels of all nodes.
        train: The nodes to fit, a mask or node numbers.
        val: The nodes that choose, a mask or node numbers.
        strengths: Values of C to try.
        shares: Weights of the features to try.
    """
    from sklearn.linear_model import LogisticRegression

    parts = _Parts.of(model, as_features(x))
    best: tuple[LogisticFit, Any] | None = None
    for strength, share in product(strengths, shares):
        fit = LogisticRegression(C=strength, max_iter=2000)
        fit.fit(parts.rows(train, share), y[train].numpy())
        found = LogisticFit(fit.score(parts.rows(val, share), y[val].numpy()), strength, share)
        if best is None or found.val_accuracy > best[0].val_accuracy:
            best = found, fit
    if best is None:
        raise InputError("strengths", "holds nothing to try", way_out="give at least one of each")
    parts.write(best[1], best[0].share, model)
    return best[0]


class _Parts(NamedTuple):
    """The two halves of every row, and the factors that scale each to norm one."""

    embedding: Tensor
    x: Features
    center: Tensor
    embedding_factor: float
    x_factor: float

    @classmethod
    def of(cls, model: DeepWalk, x: Features) -> _Parts:
        embedding = model.embedding.double()
        center = embedding.mean(0)
        values = x.values if isinstance(x, SparseRows) else x
        rows = len(embedding)
        return cls(embedding, x, center, _factor(embedding - center, rows), _factor(values, rows))

    def rows(self, index: Tensor, share: float) -> Any:
        """[embedding, features] of some nodes as a SciPy matrix."""
        index = index.nonzero().view(-1) if index.dtype == torch.bool else index
        embedding = (self.embedding[index] - self.center) * self.embedding_factor
        features = _scipy(take_rows(self.x, index)) * (share * self.x_factor)
        return sparse.hstack([embedding.numpy(), features], format="csr")

    def write(self, fit: Any, share: float, model: DeepWalk) -> None:
        """Fold center and factors into weights that act on raw rows."""
        coef, intercept = _one_row_a_class(fit, model.linear.out_features)
        size = self.embedding.size(1)
        coef[:, :size] *= self.embedding_factor
        coef[:, size:] *= share * self.x_factor
        with torch.no_grad():
            model.linear.weight.copy_(coef)
            model.linear.bias.copy_(intercept - coef[:, :size] @ self.center)


def _factor(values: Tensor, rows: int) -> float:
    """One over the root mean square norm of the rows; one where all is zero."""
    norm = float(values.double().square().sum() / rows) ** 0.5
    return 1 / norm if norm > 0 else 1.0


def _scipy(x: Features) -> Any:
    if isinstance(x, Tensor):
        return sparse.csr_matrix(x.numpy().astype(np.float64))
    arrays = (x.values.numpy().astype(np.float64), x.col.numpy(), x.crow.numpy())
    return sparse.csr_matrix(arrays, shape=(x.num_rows, x.width))


def _one_row_a_class(fit: Any, classes: int) -> tuple[Tensor, Tensor]:
    """Weights and biases for all classes; a class without a training node is never predicted."""
    coef, intercept = fit.coef_, fit.intercept_
    if len(fit.classes_) == 2:  # scikit-learn keeps only the difference of the two
        coef, intercept = (np.concatenate([-part / 2, part / 2]) for part in (coef, intercept))
    weight = torch.zeros(classes, coef.shape[1], dtype=torch.float64)
    bias = torch.full((classes,), -1e4, dtype=torch.float64)
    seen = torch.from_numpy(fit.classes_)
    weight[seen], bias[seen] = torch.from_numpy(coef), torch.from_numpy(intercept)
    return weight, bias
