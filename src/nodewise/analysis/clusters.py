"""Groups of nodes with similar local models, and the features that their contexts share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import one_hot

from nodewise.analysis.layer_view import LayerView
from nodewise.analysis.local_weights import LocalWeights
from nodewise.ops.sparse import Features, SparseRows

_AXES: Final = 10
_COUNTS: Final = (2, 3, 4, 5, 6, 8)
_SCORED: Final = 2000  # nodes that a silhouette is computed on: it compares all with all
_FEATURES: Final = 10


@dataclass(frozen=True)
class Cluster:
    """Nodes with similar local models.

    Attributes:
        nodes: How many.
        distance: Their mean |W_v - W|.
        classes: The share of each predicted class among them, by name.
        features: The features that their contexts have more often than those of other nodes, the
            most characteristic first: mean over C_v and over the nodes, in standard deviations of
            the feature above the mean over all nodes.
        examples: The ids of the nodes nearest to the center.
    """

    nodes: int
    distance: float
    classes: Mapping[str, float]
    features: tuple[tuple[str, float], ...]
    examples: tuple[Any, ...]

    def to_dict(self) -> dict[str, Any]:
        """Its JSON form."""
        features = [{"name": name, "score": score} for name, score in self.features]
        return {**vars(self), "features": features, "examples": list(self.examples)}


@dataclass(frozen=True, eq=False)
class Clusters:
    """A partition of the nodes.

    Attributes:
        of_node: The cluster of each node, shape (N,).
        silhouette: How well they are apart, from -1 to 1.
        clusters: The clusters, largest first.
    """

    of_node: NDArray[np.int64]
    silhouette: float
    clusters: tuple[Cluster, ...]


def find_clusters(
    opened: LayerView, local: LocalWeights | None, predicted: NDArray[np.int64]
) -> Clusters | None:
    """The clusters of the local models on their principal axes; None where there are none.

    KMeans with each of a few numbers of clusters; the silhouette chooses.

    Args:
        opened: The model and the graph.
        local: The local models.
        predicted: The predicted class of each node.
    """
    if local is None:
        return None
    rows = local.principal(_AXES)
    distinct = len(np.unique(rows.round(9), axis=0))
    counts = [count for count in _COUNTS if count < distinct]
    if not counts:
        return None
    found = max((_partition(rows, count) for count in counts), key=lambda each: each[0])
    score, labels, centers = found
    order = np.argsort(-np.bincount(labels), kind="stable")
    lifts = _lifts(opened, labels, len(order))
    clusters = [
        _describe(opened, local, predicted, labels == k, rows - centers[k], lifts[k]) for k in order
    ]
    return Clusters(np.argsort(order)[labels], score, tuple(clusters))


def _partition(
    rows: NDArray[np.float64], count: int
) -> tuple[float, NDArray[np.int64], NDArray[np.float64]]:
    """The silhouette, the cluster of each row, and the centers."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # threads that wait for a core take longer than these few rows
        fitted = KMeans(count, n_init=3, random_state=0).fit(rows)
    labels = fitted.labels_.astype(np.int64)
    sample = np.random.default_rng(0).permutation(len(rows))[:_SCORED]
    if not 1 < len(np.unique(labels[sample])) < len(sample):
        return -1.0, labels, fitted.cluster_centers_
    score = float(silhouette_score(rows[sample], labels[sample]))
    return score, labels, fitted.cluster_centers_


def _describe(
    opened: LayerView,
    local: LocalWeights,
    predicted: NDArray[np.int64],
    members: NDArray[np.bool_],
    offsets: NDArray[np.float64],
    lift: NDArray[np.float64],
) -> Cluster:
    subject, nodes = opened.subject, np.flatnonzero(members)
    shares = np.bincount(predicted[nodes], minlength=len(subject.class_names)) / len(nodes)
    top = [i for i in np.argsort(-lift, kind="stable")[:_FEATURES] if lift[i] > 0]
    near = nodes[np.argsort(np.square(offsets[nodes]).sum(1), kind="stable")[:5]]
    return Cluster(
        len(nodes),
        float(local.distance[nodes].mean()),
        {name: float(share) for name, share in zip(subject.class_names, shares, strict=True)},
        tuple((subject.feature_names[i], float(lift[i])) for i in top),
        tuple(subject.ids[node] for node in near),
    )


def _lifts(opened: LayerView, labels: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """How much more each feature occurs in the contexts of each cluster, shape (count, features).

    The mean over C_v and over the cluster's nodes, less that over all nodes, in standard deviations
    of the feature. The means are sums of the features under weights, so no context is built.
    """
    neighbors, x = opened.blocks[0].neighbors, opened.subject.x
    members = one_hot(torch.from_numpy(labels), count).to(x.device, x.dtype)
    spread = members / members.sum(0)
    spread = torch.cat([spread, torch.full_like(spread[:, :1], 1 / len(labels))], 1)
    shares = neighbors.shares(x.dtype)[:, None] * spread[neighbors.target]
    weights = spread.new_zeros(len(labels), count + 1).index_add_(0, neighbors.source, shares)
    means = _weighted_sums(x, weights)
    apart = (means[:count] - means[count]) / _deviation(x).clamp(min=1e-12)
    return np.asarray(apart.double().cpu().numpy())


def _weighted_sums(x: Features, weights: Tensor) -> Tensor:
    """weights^T x, shape (k, features)."""
    if not isinstance(x, SparseRows):
        return weights.T @ x
    row = torch.repeat_interleave(torch.arange(x.num_rows, device=x.device), x.crow.diff().long())
    return torch.stack([_column_sums(x, x.values * column[row]) for column in weights.T])


def _column_sums(x: SparseRows, values: Tensor) -> Tensor:
    return values.new_zeros(x.width).index_add_(0, x.col.long(), values)


def _deviation(x: Features) -> Tensor:
    """The standard deviation of each feature over the nodes."""
    if not isinstance(x, SparseRows):
        return x.std(0, correction=0)
    mean = _column_sums(x, x.values) / x.num_rows
    return (_column_sums(x, x.values.square()) / x.num_rows - mean.square()).clamp(min=0).sqrt()
