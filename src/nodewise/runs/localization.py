"""How far each node's own weight is from the global one."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module

from nodewise.models.classifier import Classifier
from nodewise.nn.base_conv import BaseConv
from nodewise.ops.sparse import as_features, take_rows
from nodewise.training.engines import TrainingGraph

_NUMBERS = 2**24  # scales that are in memory at once


@singledispatch
def localization(model: Module, graph: TrainingGraph) -> Tensor | None:
    """Mean squares of a_v - 1 and of b_v in the first layer, shape (N, 2), in evaluation mode.

    None for a model that localizes nothing at its nodes.
    """
    return None


@localization.register
@torch.no_grad()
def _(model: Classifier, graph: TrainingGraph) -> Tensor | None:
    model.eval()
    conv, count = model.layers[0], graph.y.numel()
    whole = conv.block(graph.edge_index, (count, count), graph.edge_weight)
    size = max(1, _NUMBERS // (conv.heads * conv.widths[0]))
    parts = []
    for first in range(0, count, size):
        targets = torch.arange(first, min(first + size, count), device=graph.y.device)
        part = _of_targets(conv, graph, *whole.restrict(targets))
        if part is None:
            return None
        parts.append(part)
    return torch.cat(parts)


def _of_targets(conv: BaseConv, graph: TrainingGraph, block: Any, nodes: Tensor) -> Tensor | None:
    rows = take_rows(as_features(graph.x), nodes)
    _, made = conv(rows, block, return_modulations=True)
    for modulation in made:
        if modulation.level == "node":
            numbers = (modulation.scale - 1, modulation.shift)
            return torch.stack([number.square().mean((1, 2)) for number in numbers], 1)
    return None
