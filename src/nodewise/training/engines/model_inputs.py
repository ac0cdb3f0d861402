"""Which features and edge weights a model accepts."""

from __future__ import annotations

from torch import Tensor
from torch.nn import Module

from nodewise.errors import InputError
from nodewise.models.baselines.deepwalk import DeepWalk
from nodewise.models.baselines.planetoid import EitherPlanetoid
from nodewise.models.baselines.scikit import ScikitModel
from nodewise.models.classifier import Classifier
from nodewise.ops.sparse import Features, SparseRows


def check_weights(model: Module, edge_weight: Tensor | None) -> None:
    """Check that the model uses the edge weights, if there are any.

    Raises:
        InputError: The model does not use them.
    """
    used = isinstance(model, Classifier | ScikitModel) and model.uses_edge_weights
    if edge_weight is not None and not used:
        raise InputError(
            "edge_weight",
            "this model does not use the weights of edges",
            way_out="leave the weights out, or choose a model such as LGCN, LGIN or GCN",
        )


def as_input(model: Module, x: Features) -> Features:
    """The features in a form that the model accepts: only models of ours accept sparse rows."""
    ours = isinstance(model, Classifier | DeepWalk | EitherPlanetoid | ScikitModel)
    return x.dense() if isinstance(x, SparseRows) and not ours else x
