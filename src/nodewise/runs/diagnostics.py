"""The data of a run's page beyond its scores: confusion, curves, predictions, localization.

Everything is computed when training ends and written to `diagnostics.json`; a page only reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import Module

from nodewise.data.splits.split import Split
from nodewise.models.classifier import Classifier
from nodewise.nn.block import Block
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.nn.modulation import Modulation
from nodewise.runs.curves import curves_of
from nodewise.runs.local_map import local_map
from nodewise.runs.unlabeled import name_of, unlabeled_predictions
from nodewise.training.engines.base import TrainingGraph
from nodewise.training.inference import Inference, Inputs, MappedGraph
from nodewise.training.metrics import Labels, Probabilities, confusion, reliability

_EXTREMES = 10  # nodes shown at either end
_SCALES_AT_ONCE = 2**20  # which bounds the memory of `in_parts`, and stays in the cache


def diagnose(
    model: Module,
    graph: TrainingGraph,
    logits: Tensor,
    class_names: Sequence[str],
    ids: Sequence[Any],
    how: Inference | None = None,
) -> dict[str, Any]:
    """The content of `diagnostics.json`; see the functions below, `curves_of` and others for more.

    Where the model has learned from all labeled nodes but the test nodes, and there are none, it is
    without what belongs to scored nodes: `part`, `confusion`, `reliability`, `curves`.

    Args:
        model: The trained model.
        graph: The graph that it was trained on.
        logits: Its logits of all nodes, shape (N, classes).
        class_names: A name for each class.
        ids: A name for each node.
        how: What may be used for it; by default half of the machine's memory.
    """
    labels, probabilities = graph.y.cpu().numpy(), logits.detach().cpu().double().softmax(1).numpy()
    diagnostics = {"classes": list(class_names), **_of_parts(labels, probabilities, graph.split)}
    unlabeled = unlabeled_predictions(labels, probabilities, ids)
    if unlabeled is not None:
        diagnostics["unlabeled"] = unlabeled
    modulation = _modulation(model, graph, how)
    if modulation is not None:
        squares = _squares(modulation, len(labels)).cpu()
        diagnostics["localization"] = {
            **_extremes(squares, graph, logits, class_names, ids),
            "map": local_map(modulation, logits.argmax(1)),
        }
    return diagnostics


def _of_parts(labels: Labels, probabilities: Probabilities, split: Split) -> dict[str, Any]:
    """The share of training nodes that is right, and more about the nodes that scores are from."""
    train, part = split.train, scored_part(split)
    learned = {"train_accuracy": float((probabilities[train].argmax(1) == labels[train]).mean())}
    nodes = dict(split)[part]
    if not len(nodes):
        return learned
    truth, rows = labels[nodes], probabilities[nodes]
    return {
        **learned,
        "part": part,
        "confusion": confusion(truth, rows).tolist(),
        "reliability": reliability(truth, rows),
        "curves": curves_of(truth, rows),
    }


def scored_part(split: Split) -> str:
    """The part of a split that scores are taken on: "test", or "val" where no node is for tests."""
    return "test" if len(split.test) else "val"


def localization(
    model: Module, graph: TrainingGraph, how: Inference | None = None
) -> Tensor | None:
    """Mean squares of a_v - 1 and of b_v in the first layer, shape (N, 2), in evaluation mode.

    None for a model without node-level localization.
    """
    found = _modulation(model, graph, how)
    return None if found is None else _squares(found, graph.y.numel())


@singledispatch
def _modulation(
    model: Module, graph: TrainingGraph, how: Inference | None = None
) -> Modulation | None:
    """The node level's modulation in the first layer; None for a model that has none."""
    return None


@_modulation.register
def _(model: Classifier, graph: TrainingGraph, how: Inference | None = None) -> Modulation | None:
    model.eval()
    return first_modulation(model, graph.inputs, how)


def _squares(modulation: Modulation, count: int) -> Tensor:
    parts = in_parts(modulation, count)
    return torch.cat([torch.stack([_mean_square(a), _mean_square(b)], 1) for _, a, b in parts])


def _mean_square(rows: Tensor) -> Tensor:
    return rows.square().mean((1, 2))


@torch.no_grad()
def first_modulation(
    model: Classifier, inputs: Inputs, how: Inference | None = None
) -> Modulation | None:
    """The node level's modulation in the first layer, of all nodes; None without a node level.

    Args:
        model: The model, in evaluation mode.
        inputs: Its arguments, or files.
        how: What may be used for it; by default half of the machine's memory.
    """
    conv = model.layers[0] if model.layers else None
    if not isinstance(conv, LocalizedConv) or conv.node_modulator is None:
        return None
    parts = (how or Inference()).in_parts(model, inputs)
    if parts is not None:
        found = [conv.node_codes(x, cast(Block, block)) for _, x, block in parts.first_layer()]
        codes = [torch.cat(each) for each in zip(*found, strict=True)]
    else:
        x, *graph = inputs.arguments() if isinstance(inputs, MappedGraph) else inputs
        codes = conv.node_codes(model.first_rows(x, *graph), *graph)
    return conv.node_modulator.modulation(*conv.node_modulator.with_expansions(codes))


@torch.no_grad()
def in_parts(modulation: Modulation, count: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Some nodes, and their a - 1 and b, (n, H, in) each, until all nodes were there.

    All together they have features times nodes times heads numbers, which may not fit into memory.

    Args:
        modulation: What `first_modulation` returned.
        count: How many nodes there are.
    """
    size = max(1, _SCALES_AT_ONCE * count // max(1, modulation.count))
    for first in range(0, count, size):
        nodes = torch.arange(first, min(first + size, count))
        yield nodes, *modulation.rows(nodes)


def _extremes(
    squares: Tensor,
    graph: TrainingGraph,
    logits: Tensor,
    class_names: Sequence[str],
    ids: Sequence[Any],
) -> dict[str, Any]:
    """The most and the least localized nodes, and the distribution over all nodes."""
    distance = squares.sum(1)
    order = distance.argsort(descending=True, stable=True).tolist()
    neighbors = graph.degrees.tolist()
    predicted = logits.argmax(1).tolist()

    def describe(node: int) -> dict[str, Any]:
        label = int(graph.y[node])
        return {
            "id": name_of(ids[node]),
            "distance": float(distance[node]),
            "scale": float(squares[node, 0]),
            "shift": float(squares[node, 1]),
            "neighbors": neighbors[node],
            "label": class_names[label] if label >= 0 else None,
            "prediction": class_names[predicted[node]],
        }

    shown = min(_EXTREMES, len(order) // 2)
    counts, edges = np.histogram(distance.double().numpy(), bins=30)
    return {
        "most": [describe(node) for node in order[:shown]],
        "least": [describe(node) for node in order[::-1][:shown]],
        "median": float(distance.median()),
        "histogram": {"counts": counts.tolist(), "edges": edges.tolist()},
    }
