"""The blocks of some targets at a time, of a graph in CSC that may be larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodewise.nn.block import Block, BlockRule, build_part

_EDGES_AT_ONCE = 1 << 22  # for weighted degrees, which need no rows of features


class EdgesByTarget(Protocol):
    """The edges sorted by target, in arrays that may be memory-mapped, such as `CscGraph`."""

    @property
    def colptr(self) -> NDArray[np.integer[Any]]:
        """Target v's edges are `colptr[v]` to `colptr[v + 1]`, shape (N + 1,)."""

    @property
    def row(self) -> NDArray[np.integer[Any]]:
        """The source of each edge, shape (E,)."""

    @property
    def edge_weight(self) -> NDArray[np.floating[Any]] | None:
        """The weight of each edge, shape (E,), or None."""


class GraphParts:
    """Cuts the targets into parts, and builds the block of each with all its neighbors.

    Args:
        graph: The edges, sorted by target.
        dtype: The type of weights.
        device: Where blocks are built.
    """

    def __init__(self, graph: EdgesByTarget, dtype: torch.dtype, device: torch.device) -> None:
        self.graph, self.dtype, self.device = graph, dtype, device
        self.num_nodes = len(graph.colptr) - 1
        self._degrees: dict[BlockRule, Tensor] = {}

    def cuts(self, most: int) -> Iterator[range]:
        """Consecutive targets that are `most` together with their edges; at least one at a time.

        Args:
            most: The largest number of targets and of edges that lead to them, taken together.
        """
        colptr, first = self.graph.colptr, 0
        while first < self.num_nodes:
            limit, before = first + most, int(colptr[first])
            low, high = first + 1, max(first + 1, min(self.num_nodes, limit))
            while low < high:
                middle = (low + high + 1) // 2
                fits = middle + int(colptr[middle]) - before <= limit
                low, high = (middle, high) if fits else (low, middle - 1)
            yield range(first, low)
            first = low

    def block(self, rule: BlockRule, nodes: range) -> tuple[Block, Tensor]:
        """The block of consecutive targets, and the nodes it needs as sources, ascending.

        Args:
            rule: Which nodes belong to C_v, and the weights of the edges.
            nodes: The targets.
        """
        source, target, weight = self._edges(nodes)
        numbers = torch.arange(nodes.start, nodes.stop)
        n_id, local = torch.unique(torch.cat([source, numbers]), return_inverse=True)
        edges = torch.stack([local[: source.numel()], target]).to(self.device)
        itself = local[source.numel() :].to(self.device)
        degree = None
        if rule.normalization == "symmetric":
            degree = self._degree(rule)[n_id].to(self.device)
        return build_part(edges, weight, itself, n_id.numel(), rule, self.dtype, degree), n_id

    def _edges(self, nodes: range) -> tuple[Tensor, Tensor, Tensor | None]:
        """Sources, targets counted from the first of these nodes on, and weights on the device."""
        ptr = np.asarray(self.graph.colptr[nodes.start : nodes.stop + 1], np.int64)
        edges, given = slice(int(ptr[0]), int(ptr[-1])), self.graph.edge_weight
        source = torch.from_numpy(np.array(self.graph.row[edges], np.int64))
        target = torch.repeat_interleave(torch.from_numpy(np.diff(ptr)))
        if given is None:
            return source, target, None
        weight = torch.from_numpy(np.array(given[edges]))
        return source, target, weight.to(self.device, self.dtype)

    def _degree(self, rule: BlockRule) -> Tensor:
        """The sum of weights over each C_v before normalization, on the CPU, shape (N,)."""
        if rule not in self._degrees:
            plain, found = replace(rule, normalization="none"), []
            for nodes in self.cuts(_EDGES_AT_ONCE):
                source, target, weight = self._edges(nodes)
                # Sources keep their numbers in the graph here, since no rows are taken.
                edges, itself = torch.stack([source, target]), torch.arange(self.num_nodes)
                targets = itself[nodes.start : nodes.stop]
                weight = None if weight is None else weight.cpu()
                part = build_part(edges, weight, targets, self.num_nodes, plain, self.dtype)
                found.append(part.weighted_degree(self.dtype))
            self._degrees[rule] = torch.cat(found)
        return self._degrees[rule]
