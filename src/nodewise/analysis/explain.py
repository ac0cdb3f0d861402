"""Masks over edges and features, by PyG's Explainer: what a prediction depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from nodewise.analysis.subject import Subject
from nodewise.models.classifier import Classifier
from nodewise.nn.levels import LEVELS, with_levels
from nodewise.ops.sparse import SparseRows, as_features, take_rows
from nodewise.randomness import seeded_randomness

if TYPE_CHECKING:
    from torch_geometric.explain.algorithm import ExplainerAlgorithm

_MODEL = {
    "mode": "multiclass_classification",
    "task_level": "node",
    "return_type": "raw",
}


@dataclass(frozen=True)
class Explanation:
    """The masks that an algorithm of `torch_geometric.explain` found for a node.

    Attributes:
        id: The node's id.
        algorithm: The algorithm.
        features: Names of features and their importance, most important first.
        edges: The ends (source, target) of edges and their importance, most important first.
    """

    id: Any
    algorithm: str
    features: tuple[tuple[str, float], ...]
    edges: tuple[tuple[tuple[Any, Any], float], ...]

    def to_dict(self) -> dict[str, Any]:
        """Its JSON form."""
        edges = [
            {"source": source, "target": target, "importance": value}
            for (source, target), value in self.edges
        ]
        features = [{"name": name, "importance": value} for name, value in self.features]
        return {"id": self.id, "algorithm": self.algorithm, "features": features, "edges": edges}


@dataclass(frozen=True)
class ComputationGraph:
    """The part of a graph on which the prediction of one node depends.

    Attributes:
        nodes: The numbers of its nodes, ascending.
        row: Which of them the node is.
        edge_index: Its edges between these, shape (2, e).
        edge: Which edges of the graph they are, a mask.
    """

    nodes: Tensor
    row: int
    edge_index: Tensor
    edge: Tensor


def computation_graph(subject: Subject, node: int) -> ComputationGraph:
    """The subgraph in which a node has the logits that it has in the graph.

    It reaches a hop farther than messages do, since weights of GCN depend on degrees of sources.
    """
    from torch_geometric.utils import k_hop_subgraph

    model = subject.model
    if not isinstance(model, Classifier):
        every = torch.arange(subject.num_nodes)
        whole = torch.ones_like(subject.edge_index[0], dtype=torch.bool)
        return ComputationGraph(every, node, subject.edge_index, whole)
    hops = model.depth + (0 if model.ends is None else model.ends.hops) + 1
    nodes, edges, row, edge = k_hop_subgraph(
        node, hops, subject.edge_index, relabel_nodes=True, num_nodes=subject.num_nodes
    )
    return ComputationGraph(nodes, int(row), edges, edge)


def explain(
    subject: Subject, node: int, algorithm: ExplainerAlgorithm | None = None, epochs: int = 100
) -> Explanation:
    """Explain the prediction of a node; see `View.explain`."""
    from torch_geometric.explain import Explainer, GNNExplainer

    part = computation_graph(subject, node)
    chosen = GNNExplainer(epochs=epochs) if algorithm is None else algorithm
    explainer = Explainer(
        with_levels(subject.model, LEVELS),  # masks are written to modules: not to ours
        chosen,
        explanation_type="model",
        node_mask_type="common_attributes",
        edge_mask_type="object" if _uses_edges(subject) else None,
        model_config=_MODEL,
    )
    x = take_rows(as_features(subject.x), part.nodes)
    weight = {} if subject.edge_weight is None else {"edge_weight": subject.edge_weight[part.edge]}
    dense = x.dense() if isinstance(x, SparseRows) else x
    with seeded_randomness(0):
        found = explainer(dense, part.edge_index, index=part.row, **weight)
    return Explanation(
        subject.ids[node],
        type(chosen).__name__,
        _ranked(found.get("node_mask"), subject.feature_names),
        _ranked(found.get("edge_mask"), _ends(subject, part)),
    )


def _uses_edges(subject: Subject) -> bool:
    model = subject.model
    return not isinstance(model, Classifier) or bool(model.layers)


def _ends(subject: Subject, part: ComputationGraph) -> list[tuple[Any, Any]]:
    """The ids at both ends of each edge."""
    ids = [subject.ids[int(node)] for node in part.nodes]
    return [(ids[source], ids[target]) for source, target in part.edge_index.T.tolist()]


def _ranked(mask: Tensor | None, names: Sequence[Any]) -> tuple[tuple[Any, float], ...]:
    """The names of what is not masked completely, most important first."""
    if mask is None:
        return ()
    values = mask.detach().cpu().double().view(-1)
    order = values.argsort(descending=True, stable=True).tolist()
    return tuple((names[i], float(values[i])) for i in order if values[i] > 0)
