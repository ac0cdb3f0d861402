"""Two numbers that tell what a graph is like."""

from __future__ import annotations

import numpy as np

from nodewise.data.readers import RawGraph


def feature_density(graph: RawGraph) -> float:
    """The share of the feature matrix that is not zero."""
    nodes, features = graph.x.shape
    return float(graph.x.count_nonzero() / (nodes * features))


def edge_homophily(graph: RawGraph) -> float | None:
    """The share of edges between nodes of one class, of the edges between labeled nodes.

    None if there is no such edge.
    """
    source, target = graph.y[graph.edge_index]
    labeled = (source >= 0) & (target >= 0)
    return float(np.mean(source[labeled] == target[labeled])) if labeled.any() else None
