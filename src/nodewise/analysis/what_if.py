"""Predictions without an edge, a feature or a level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nodewise.analysis.predictions import Probabilities, arguments, to_probabilities
from nodewise.analysis.subject import Subject
from nodewise.errors import InputError
from nodewise.models.classifier import Classifier
from nodewise.nn.levels import LEVELS, check_levels, with_levels
from nodewise.ops.sparse import Features, SparseRows, take_rows
from nodewise.training.engines.model_inputs import as_input
from nodewise.training.inputs import normalize


@dataclass(frozen=True)
class WhatIf:
    """A prediction before and after a change.

    Attributes:
        id: The node's id.
        before: The predicted class of the graph as it is, all levels on.
        after: The predicted class after the change.
        probabilities_before: The probability of each class, by name.
        probabilities_after: The same after the change.
    """

    id: Any
    before: str
    after: str
    probabilities_before: Mapping[str, float]
    probabilities_after: Mapping[str, float]

    @property
    def changed(self) -> bool:
        """Whether another class is predicted."""
        return self.before != self.after

    def to_dict(self) -> dict[str, Any]:
        """Its JSON form."""
        return {**vars(self), "changed": self.changed}


def what_if(
    subject: Subject,
    before: Probabilities,
    node: int,
    drop_edges: Iterable[Any],
    zero_features: Iterable[Any],
    levels: Iterable[str] | None,
) -> WhatIf:
    """The prediction of a node after a change; see `View.what_if`.

    Args:
        subject: The model and the graph.
        before: The probabilities of all nodes before it, shape (N, classes).
        node: The node's number.
        drop_edges: Ids of neighbors, or pairs (source, target) of ids.
        zero_features: Names of features of the node, or pairs (id, name).
        levels: The levels that stay on; None for all.
    """
    kept = _kept_edges(subject, node, drop_edges)
    places = [_place(subject, node, given) for given in zero_features]
    model = with_levels(subject.model, LEVELS if levels is None else check_levels(levels))
    logits = _logits(model, subject, node, kept, places)
    after = to_probabilities(logits[None], subject.temperature)[0]
    names = subject.class_names
    return WhatIf(
        subject.ids[node],
        names[int(before[node].argmax())],
        names[int(after.argmax())],
        by_class(subject, before[node]),
        by_class(subject, after),
    )


def by_class(subject: Subject, probabilities: Probabilities) -> dict[str, float]:
    """The probabilities of a node by the names of the classes."""
    return dict(zip(subject.class_names, probabilities.tolist(), strict=True))


@torch.no_grad()
def _logits(
    model: Any, subject: Subject, node: int, kept: Tensor, places: list[tuple[int, int]]
) -> Tensor:
    """The logits of a node, computed on its receptive field where the model has one."""
    edges = subject.edge_index[:, kept]
    weight = None if subject.edge_weight is None else subject.edge_weight[kept]
    if not isinstance(model, Classifier) or model.needs_all_nodes or not model.layers:
        x = _without(subject, torch.arange(subject.num_nodes), places) if places else subject.x
        full: Tensor = model(*arguments(x, edges, weight))
        return full[node]
    target = torch.tensor([node], device=edges.device)
    field = model.receptive_field(edges, subject.num_nodes, target, weight)
    x = _without(subject, field.nodes.cpu(), places) if places else field.take(subject.x)
    logits: Tensor = model(x, field)
    return logits[0]


def _kept_edges(subject: Subject, node: int, dropped: Iterable[Any]) -> Tensor:
    """Which edges stay, a mask over all of them."""
    source, target = subject.edge_index
    kept = torch.ones_like(source, dtype=torch.bool)
    for given in dropped:
        if isinstance(given, tuple | list):
            ends = [subject.number_of(end) for end in given]
            found = (source == ends[0]) & (target == ends[1])
        else:
            other = subject.number_of(given)
            found = ((source == other) & (target == node)) | ((source == node) & (target == other))
        if not bool(found.any()):
            raise InputError(
                "drop_edges",
                "names no edge of the graph",
                value=given,
                way_out="name a neighbor of the node, or an edge as (source, target)",
            )
        kept &= ~found
    return kept


def _place(subject: Subject, node: int, given: Any) -> tuple[int, int]:
    """The row and the column of a feature: a name of the node's, or a pair (id, name)."""
    if isinstance(given, tuple | list):
        owner, name = given
        return _place(subject, subject.number_of(owner), name)
    return node, subject.column_of(given)


def _without(subject: Subject, nodes: Tensor, places: list[tuple[int, int]]) -> Features:
    """The features of some nodes, as the model takes them, with zeros at some places."""
    rows = take_rows(subject.raw, nodes)
    number = {int(node): row for row, node in enumerate(nodes)}
    for node, column in places:
        if node in number:
            rows = _zeroed(rows, number[node], column)
    return as_input(subject.model, normalize(rows, subject.normalization))


def _zeroed(rows: Features, row: int, column: int) -> Features:
    if isinstance(rows, SparseRows):
        entries = slice(int(rows.crow[row]), int(rows.crow[row + 1]))
        values = rows.values.clone()
        values[entries] = values[entries].masked_fill(rows.col[entries] == column, 0.0)
        return rows.with_values(values)
    rows = rows.clone()
    rows[row, column] = 0.0
    return rows
