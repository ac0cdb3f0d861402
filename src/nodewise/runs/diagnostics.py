"""What a run's page shows beyond its scores: confusion, calibration, strength of localization.

Everything is computed when training ends and written to `diagnostics.json`; a page only reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import Module

from nodewise.data.splits import Split
from nodewise.models.classifier import Classifier
from nodewise.nn.base_conv import BaseConv
from nodewise.ops.sparse import as_features, take_rows
from nodewise.training.engines import TrainingGraph

BINS = 10  # of confidence
_EXTREMES = 10  # nodes shown at either end
_SCALES_AT_ONCE = 2**24  # which bounds the memory of `localization`


def diagnose(
    model: Module,
    graph: TrainingGraph,
    logits: Tensor,
    class_names: Sequence[str],
    ids: Sequence[Any],
) -> dict[str, Any]:
    """The content of `diagnostics.json`.

    Args:
        model: The trained model.
        graph: The graph that it was trained on.
        logits: Its logits of all nodes, shape (N, classes).
        class_names: A name for each class.
        ids: A name for each node.
    """
    part = scored_part(graph.split)
    nodes = torch.from_numpy(dict(graph.split)[part].copy())
    truth, scored = graph.y.cpu()[nodes], logits.cpu()[nodes]
    diagnostics = {
        "part": part,
        "classes": list(class_names),
        "confusion": confusion(truth, scored.argmax(1), len(class_names)).tolist(),
        "reliability": reliability(scored.softmax(1), truth),
    }
    squares = localization(model, graph)
    if squares is None:
        return diagnostics
    return {
        **diagnostics,
        "localization": _extremes(squares.cpu(), graph, logits, class_names, ids),
    }


def scored_part(split: Split) -> str:
    """The part of a split that scores are taken on: "test", or "val" where no node is for tests."""
    return "test" if len(split.test) else "val"


def confusion(truth: Tensor, predicted: Tensor, classes: int) -> NDArray[np.int64]:
    """How many nodes of each class (row) are predicted as each class (column)."""
    pairs = (truth * classes + predicted).numpy()
    return np.bincount(pairs, minlength=classes * classes).reshape(classes, classes)


def reliability(probabilities: Tensor, truth: Tensor) -> list[dict[str, float]]:
    """Nodes by the confidence of their prediction, in bins of equal width.

    Args:
        probabilities: Probabilities, shape (n, classes).
        truth: Labels, shape (n,).

    Returns:
        For each bin its count, the sum of confidences, and how many predictions are right.
    """
    confidence, predicted = probabilities.double().max(1)
    bins = (confidence * BINS).long().clamp(max=BINS - 1)
    right = (predicted == truth).double()
    columns = {"count": torch.ones_like(right), "confidence": confidence, "right": right}
    sums = {name: torch.zeros(BINS).double().index_add(0, bins, v) for name, v in columns.items()}
    return [{name: float(values[i]) for name, values in sums.items()} for i in range(BINS)]


def calibration_error(bins: Sequence[dict[str, float]]) -> float:
    """ECE: the distance of confidence and accuracy in each bin, averaged over the nodes."""
    total = sum(entry["count"] for entry in bins)
    return sum(abs(entry["right"] - entry["confidence"]) for entry in bins) / max(total, 1)


@singledispatch
def localization(model: Module, graph: TrainingGraph) -> Tensor | None:
    """Mean squares of a_v - 1 and of b_v in the first layer, shape (N, 2), in evaluation mode.

    None for a model without node-level localization.
    """
    return None


@localization.register
@torch.no_grad()
def _(model: Classifier, graph: TrainingGraph) -> Tensor | None:
    model.eval()
    conv, count = model.layers[0], graph.y.numel()
    block = conv.block(graph.edge_index, (count, count), graph.edge_weight)
    size = max(1, _SCALES_AT_ONCE // (conv.heads * conv.widths[0]))
    parts = []
    for first in range(0, count, size):
        targets = torch.arange(first, min(first + size, count), device=graph.y.device)
        part = _of_targets(conv, graph, *block.restrict(targets))
        if part is None:
            return None
        parts.append(part)
    return torch.cat(parts)


def _of_targets(conv: BaseConv, graph: TrainingGraph, block: Any, nodes: Tensor) -> Tensor | None:
    rows = take_rows(as_features(graph.x), nodes)
    _, modulations = conv(rows, block, return_modulations=True)
    for modulation in modulations:
        if modulation.level == "node":
            differences = (modulation.scale - 1, modulation.shift)
            return torch.stack([each.square().mean((1, 2)) for each in differences], 1)
    return None


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
    neighbors = torch.bincount(graph.edge_index[1].cpu(), minlength=len(order)).tolist()
    predicted = logits.argmax(1).tolist()

    def describe(node: int) -> dict[str, Any]:
        label = int(graph.y[node])
        return {
            "id": ids[node] if isinstance(ids[node], str | int) else str(ids[node]),
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
