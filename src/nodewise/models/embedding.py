"""Embeddings: the input of a model's last layer, for models that have one."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from torch import Tensor
from torch.nn import Module

from nodewise.errors import InputError
from nodewise.models.baselines.deepwalk import DeepWalk
from nodewise.models.classifier import Classifier


@singledispatch
def embed(model: Module, *inputs: Any) -> Tensor:
    """The input of a model's last layer, shape (nodes, width).

    Args:
        model: The model.
        *inputs: The arguments of its `forward`.

    Raises:
        InputError: The model is of a kind whose layers are not known.
    """
    raise InputError(
        "embeddings",
        "are not known of this model",
        value=type(model).__name__,
        way_out="use a model of `nodewise models` that has layers",
    )


@embed.register
def _(model: Classifier, *inputs: Any) -> Tensor:
    return model.embed(*inputs)


@embed.register
def _(model: DeepWalk, *inputs: Any) -> Tensor:
    return model.embedding
