"""What a run's page shows beyond its scores: confusion, calibration, who is localized how much.

It is all computed when training ends and kept as `diagnostics.json`; a page only reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import Module

from nodewise.data.splits import Split
from nodewise.runs.localization import localization
from nodewise.training.engines import TrainingGraph

BINS = 10  # of confidence
_EXTREMES = 10  # nodes shown at either end


def diagnose(
    model: Module,
    graph: TrainingGraph,
    logits: Tensor,
    class_names: Sequence[str],
    ids: Sequence[Any],
) -> dict[str, Any]:
    """Everything, as plain data.

    Args:
        model: The trained model.
        graph: What it was trained on.
        logits: What it says of all nodes, shape (N, classes).
        class_names: A name for each class.
        ids: A name for each node.
    """
    part = judged_part(graph.split)
    nodes = torch.from_numpy(dict(graph.split)[part].copy())
    truth, judged = graph.y.cpu()[nodes], logits.cpu()[nodes]
    found = {
        "part": part,
        "classes": list(class_names),
        "confusion": confusion(truth, judged.argmax(1), len(class_names)).tolist(),
        "reliability": reliability(judged.softmax(1), truth),
    }
    squares = localization(model, graph)
    if squares is None:
        return found
    return {**found, "localization": _extremes(squares.cpu(), graph, logits, class_names, ids)}


def judged_part(split: Split) -> str:
    """The nodes to judge on: those to test, or to validate where there are no others."""
    return "test" if len(split.test) else "val"


def confusion(truth: Tensor, predicted: Tensor, classes: int) -> NDArray[np.int64]:
    """How many nodes of each class (row) are taken for each class (column)."""
    pairs = (truth * classes + predicted).numpy()
    return np.bincount(pairs, minlength=classes * classes).reshape(classes, classes)


def reliability(chances: Tensor, truth: Tensor) -> list[dict[str, float]]:
    """Nodes by the confidence of their prediction, in bins of equal width.

    Args:
        chances: Probabilities, shape (n, classes).
        truth: Labels, shape (n,).

    Returns:
        For each bin its count, the sum of confidences, and how many predictions are right.
    """
    confidence, predicted = chances.double().max(1)
    bins = (confidence * BINS).long().clamp(max=BINS - 1)
    right = (predicted == truth).double()
    columns = {"count": torch.ones_like(right), "confidence": confidence, "right": right}
    sums = {name: torch.zeros(BINS).double().index_add(0, bins, v) for name, v in columns.items()}
    return [{name: float(values[i]) for name, values in sums.items()} for i in range(BINS)]


def calibration_error(bins: Sequence[dict[str, float]]) -> float:
    """ECE: the distance of confidence and accuracy, averaged over nodes by their bins."""
    total = sum(entry["count"] for entry in bins)
    return sum(abs(entry["right"] - entry["confidence"]) for entry in bins) / max(total, 1)


def _extremes(
    squares: Tensor,
    graph: TrainingGraph,
    logits: Tensor,
    class_names: Sequence[str],
    ids: Sequence[Any],
) -> dict[str, Any]:
    """The nodes at both ends, and how all of them are spread."""
    distance = squares.sum(1)
    order = distance.argsort(descending=True, stable=True).tolist()
    neighbors = torch.bincount(graph.edge_index[1].cpu(), minlength=len(order)).tolist()
    predicted = logits.argmax(1).tolist()

    def about(node: int) -> dict[str, Any]:
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
        "most": [about(node) for node in order[:shown]],
        "least": [about(node) for node in order[::-1][:shown]],
        "median": float(distance.median()),
        "histogram": {"counts": counts.tolist(), "edges": edges.tolist()},
    }
