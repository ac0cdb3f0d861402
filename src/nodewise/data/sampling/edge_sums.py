"""`EdgeSums`: what a sampled batch has to know of all edges of its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.data.sampling.csc import CscGraph
from nodewise.data.sampling.kernels import sum_edges

IntArray = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class EdgeSums:
    """Numbers of edges that lead to each node, and sums of their weights.

    Attributes:
        graph: The edges.
        loops: How many of a node's edges are loops, shape (N,); None where no node has one.
        loop_weight: The weight of a node's last loop, shape (N,); None without weights.
        loop_weight_sum: The sum of the weights of its loops, shape (N,); None without weights.
        weight_sum: The sum of the weights of all its edges, shape (N,); None without weights.
    """

    graph: CscGraph
    loops: NDArray[np.int32] | None
    loop_weight: NDArray[np.float64] | None
    loop_weight_sum: NDArray[np.float64] | None
    weight_sum: NDArray[np.float64] | None

    @classmethod
    def of(cls, graph: CscGraph) -> EdgeSums:
        """Read all edges once."""
        weight, size = graph.edge_weight, graph.num_nodes
        loops = np.zeros(size, np.int32)
        sums = [np.zeros(0 if weight is None else size) for _ in range(3)]
        given = np.zeros(0) if weight is None else weight
        found = sum_edges(graph.colptr, graph.row, given, loops, *sums)
        of_weights = (None, None, None) if weight is None else sums
        return cls(graph, loops if found else None, *of_weights)

    def counts(self, nodes: IntArray, *, loops: bool = True) -> NDArray[np.int64]:
        """How many edges lead to each of some nodes, with or without loops."""
        degrees = self.graph.degrees(nodes)
        return degrees if loops or self.loops is None else degrees - self.loops[nodes]

    def weights_of_loops(self, nodes: IntArray, otherwise: float) -> NDArray[np.float64]:
        """The weight of each node's loop among the edges, or `otherwise` where it has none."""
        weights = np.full(len(nodes), otherwise)
        if self.loops is not None:
            there = self.loops[nodes] > 0
            given = 1.0 if self.loop_weight is None else self.loop_weight[nodes[there]]
            weights[there] = given
        return weights

    def sums(self, nodes: IntArray, *, loops: bool = True) -> NDArray[np.float64]:
        """The sum of the weights of each node's edges, with or without loops."""
        if self.weight_sum is None or self.loop_weight_sum is None:
            return self.counts(nodes, loops=loops).astype(np.float64)
        total = self.weight_sum[nodes]
        return total if loops else total - self.loop_weight_sum[nodes]
