from __future__ import annotations

import numpy as np
import pytest
import torch

from nodewise.data.sampling.csc import CscGraph
from nodewise.data.sampling.edge_sums import EdgeSums

# Node 1 has two loops, node 2 one edge and no loop, node 3 nothing.
EDGES = torch.tensor([[0, 1, 1, 2, 0], [1, 1, 1, 1, 2]])
WEIGHT = torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0])
NODES = np.array([3, 1, 2])


def test_counts_with_and_without_loops() -> None:
    sums = EdgeSums.of(CscGraph.from_edges(EDGES, 4))
    assert sums.counts(NODES).tolist() == sums.sums(NODES).tolist() == [0, 4, 1]
    assert sums.counts(NODES, loops=False).tolist() == [0, 2, 1]
    assert sums.sums(NODES, loops=False).tolist() == [0, 2, 1]
    assert sums.weights_of_loops(NODES, 0.5).tolist() == [0.5, 1, 0.5]


def test_sums_of_weights() -> None:
    sums = EdgeSums.of(CscGraph.from_edges(EDGES, 4, WEIGHT))
    assert sums.sums(NODES).tolist() == [0, 15, 16]
    assert sums.sums(NODES, loops=False).tolist() == pytest.approx([0, 9, 16])
    assert sums.weights_of_loops(NODES, 0.5).tolist() == [0.5, 4, 0.5]


def test_without_loops_nothing_is_stored() -> None:
    sums = EdgeSums.of(CscGraph.from_edges(EDGES[:, [0, 3]], 4))
    assert sums.loops is None and sums.weight_sum is None
    assert sums.counts(NODES, loops=False).tolist() == [0, 2, 0]
