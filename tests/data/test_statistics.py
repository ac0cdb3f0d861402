from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from nodewise.data.readers import RawGraph, undirected
from nodewise.data.statistics import edge_homophily, feature_density


def path_graph(*labels: int) -> RawGraph:
    left = np.arange(len(labels) - 1)
    edges = undirected(np.stack([left, left + 1]), len(labels))
    return RawGraph(csr_matrix(np.eye(len(labels), 3)), edges, np.array(labels))


def test_feature_density() -> None:
    assert feature_density(path_graph(0, 0, 1, 1)) == 3 / 12


def test_edge_homophily_leaves_out_unlabeled_nodes() -> None:
    assert edge_homophily(path_graph(0, 0, 1, 1, 0)) == 2 / 4
    assert edge_homophily(path_graph(0, 0, 1, -1, -1)) == 1 / 2
    assert edge_homophily(path_graph(-1, -1)) is None
