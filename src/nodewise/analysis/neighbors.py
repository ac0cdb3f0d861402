r"""How strongly the edge level passes on what a node receives from each member of its context.

The *strength* of an edge in a layer is the length of its message with the edge level, divided by
that without it:

.. math:: \lVert (W_v h_u) \odot a_{uv} + b_{uv} \rVert \; / \; \lVert W_v h_u \rVert

over all heads. Above one the edge level strengthens the message, below one it weakens it; without
an edge level it is one. `ratio` divides by the length of W h_u instead: what both levels do.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf, log
from typing import Any

import numpy as np
from torch import Tensor

from nodewise.analysis.layer_view import LayerView
from nodewise.analysis.predictions import Predictions


@dataclass(frozen=True)
class Neighbor:
    """A member of a node's context.

    Attributes:
        id: Its id; the node itself may be a member, too.
        label: Its class, None if it has no label.
        prediction: Its predicted class.
        weight: The weight of its message in the last layer's aggregation, the mean over heads.
        strength: What the edge level does to its message in the last layer: the ratio of lengths,
            None where a message of length zero gets any.
        ratio: What both levels do to it in the last layer.
        strengths: The strength in every layer, first to last.
    """

    id: Any
    label: str | None
    prediction: str
    weight: float
    strength: float | None
    ratio: float | None
    strengths: tuple[float | None, ...]

    def to_dict(self) -> dict[str, Any]:
        """Its JSON form."""
        return asdict(self)


def neighbors_of(opened: LayerView, predictions: Predictions, node: int) -> list[Neighbor]:
    """The members of C_v, those whose messages the edge level changes most first.

    Where an edge is repeated, its end is listed as often.

    Args:
        opened: The model and the graph.
        predictions: Its predictions.
        node: The node's number.
    """
    if not opened.layers:  # a model without a graph: its context is the node itself
        return [_member(opened, predictions, node, 1.0, 1.0, (1.0,))]
    received = [opened.received(layer, node) for layer in range(len(opened.layers))]
    strengths = zip(*(_ratios(each.messages, each.unmodulated) for each in received), strict=True)
    last = received[-1]
    ratios = _ratios(last.messages, last.unlocalized)
    rows = zip(last.sources, last.weights, ratios, strengths, strict=True)
    members = [
        _member(opened, predictions, int(source), float(weight), ratio, of_layers)
        for source, weight, ratio, of_layers in rows
    ]
    return sorted(members, key=lambda member: -_change(member.strength))


def _member(
    opened: LayerView,
    predictions: Predictions,
    node: int,
    weight: float,
    ratio: float | None,
    strengths: tuple[float | None, ...],
) -> Neighbor:
    subject = opened.subject
    return Neighbor(
        subject.ids[node],
        subject.name_of_class(int(subject.y[node])),
        subject.class_names[int(predictions.classes()[node])],
        weight,
        strengths[-1],
        ratio,
        strengths,
    )


def _ratios(after: Tensor, before: Tensor) -> list[float | None]:
    """The ratio of the lengths of messages (n, H, out); None where only `before` is zero."""
    lengths = (part.double().flatten(1).norm(dim=1).cpu().numpy() for part in (after, before))
    return [_ratio(*pair) for pair in zip(*lengths, strict=True)]


def _ratio(after: np.float64, before: np.float64) -> float | None:
    if before == 0:
        return 1.0 if after == 0 else None
    return float(after / before)


def _change(strength: float | None) -> float:
    """How far a strength is from one, on a logarithmic scale."""
    return inf if not strength else abs(log(strength))
