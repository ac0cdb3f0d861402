"""`Reach`: the nodes and edges of each layer of a full receptive field, counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodewise.data.sampling.csc import CscGraph
from nodewise.data.sampling.edge_sums import EdgeSums, IntArray
from nodewise.data.sampling.kernels import count_reached
from nodewise.data.sampling.sampler import SampledBatch
from nodewise.nn.block import BlockRule


@dataclass(frozen=True, eq=False)
class Reach:
    r"""The sizes of the receptive field of some nodes, all neighbors taken, from the last layer on.

    The targets of the last layer are the nodes themselves, F_0; those of the layer before it are
    F_1, these and all their neighbors; and so on. With c_u the number of ways from F_j to u in
    F_{j+1} (edges, and one more where u is in F_j), every u has the weight

    .. math::
        w_u = \frac{1}{c_u} \Big( w'_u + \sum_{v} m_{uv} w'_v \Big)

    in a batch, from the weights w' of the layer behind it and the multiplicities m of its edges.
    The weights of a batch's seeds being unbiased, so are these: the expected weight of every node
    of F_{j+1} is one, and a penalty's sum over a batch estimates that over the whole field.

    Attributes:
        num_targets: The size of F_j for each layer, last layer first.
        num_edges: How many edges lead to them, loops of the rule included.
        ways: c_u, shape (N,), for each layer but the last.
    """

    num_targets: list[int]
    num_edges: list[int]
    ways: list[NDArray[np.int32]]

    @classmethod
    def of(cls, edges: EdgeSums, rules: Sequence[BlockRule], nodes: IntArray) -> Reach:
        """Walk back from some nodes, reading the edges of all but the first layer's targets.

        Args:
            edges: The graph.
            rules: The rule of each layer, first layer first.
            nodes: The nodes.
        """
        reach, targets = cls([], [], []), np.asarray(nodes, np.int64)
        for left, rule in zip(range(len(rules) - 1, -1, -1), reversed(rules), strict=True):
            reach.num_targets.append(len(targets))
            reach.num_edges.append(int(context_sizes(edges, rule, targets).sum()))
            if left:
                reach.ways.append(ways := _ways(edges.graph, targets))
                targets = np.flatnonzero(ways)
        return reach

    def weights(
        self, batch: SampledBatch, multiplicity: NDArray[np.float64], of_seeds: float
    ) -> list[NDArray[np.float64]]:
        """How many nodes of F_j each target of a batch stands for, last layer first.

        Args:
            batch: The batch.
            multiplicity: How many edges each of its edges stands for.
            of_seeds: How many nodes each seed stands for.
        """
        weights = [np.full(batch.batch_size, of_seeds)]
        for hop, ways in enumerate(self.ways, 1):
            before = weights[-1]
            targets, nodes = len(before), sum(batch.num_sampled_nodes[: hop + 1])
            ends = batch.ptr[: targets + 1]
            of_edges = np.repeat(before, np.diff(ends)) * multiplicity[: ends[-1]]
            reached = np.bincount(batch.row[: ends[-1]], of_edges, nodes).astype(np.float64)
            reached[:targets] += before
            weights.append(reached / ways[batch.n_id[:nodes]])
        return weights


def context_sizes(edges: EdgeSums, rule: BlockRule, nodes: IntArray) -> NDArray[np.int64]:
    """|C_v| of some nodes under a rule."""
    counts = edges.counts(nodes, loops=rule.loops != "set")
    return counts if rule.loops == "none" else counts + 1


def _ways(graph: CscGraph, targets: NDArray[np.int64]) -> NDArray[np.int32]:
    ways = np.zeros(graph.num_nodes, np.int32)
    count_reached(graph.colptr, graph.row, targets, ways)
    return ways
