"""A neighbor sampler over CSC: mini-batches of the same shape as those of PyG's `NeighborLoader`.

Hop 1 samples neighbors of the seeds, hop k those of the nodes that hop k - 1 has added. A node's
neighbors are sampled once, without repeats, and all layers that need them use the same. A model's
last layer computes the seeds from the edges of hop 1; each layer before it needs one more hop.

A batch is a function of (seed, epoch, number of the batch), whatever thread samples it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodewise.data.sampling.csc import CscGraph
from nodewise.data.sampling.kernels import number_nodes, sample_edges
from nodewise.errors import InputError
from nodewise.randomness import splitmix64

IntArray = NDArray[np.int64]
ALL = -1


@dataclass(frozen=True, eq=False)
class SampledBatch:
    """The sampled neighborhood of some seeds; names and shapes are those of PyG's batches.

    Nodes are numbered in the order in which they were found, the seeds first. Edges are sorted by
    target, so that those of the first hops are at the front.

    Attributes:
        n_id: The number of each node in the graph, shape (n,).
        ptr: The edges of target i are `ptr[i]` to `ptr[i + 1]`. Targets are all nodes but those
            that the last hop has added.
        row: The source of each edge, as its number in the batch, shape (e,).
        e_id: The place of each edge in the graph's `row`, shape (e,).
        num_sampled_nodes: How many nodes each hop has added, the seeds first.
        num_sampled_edges: How many edges each hop has added.
        input_id: The places of the seeds among the nodes that batches are made of.
        whole_size: How many seeds the whole batch has, where this is one process's part of it.
    """

    n_id: IntArray
    ptr: IntArray
    row: IntArray
    e_id: IntArray
    num_sampled_nodes: list[int]
    num_sampled_edges: list[int]
    input_id: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    whole_size: int = 0

    @property
    def batch_size(self) -> int:
        """How many seeds there are: the first nodes."""
        return self.num_sampled_nodes[0]

    @property
    def num_nodes(self) -> int:
        """How many nodes there are."""
        return len(self.n_id)

    @cached_property
    def edge_index(self) -> Tensor:
        """The edges (2, e), sources above targets, in the batch's numbers."""
        target = np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))
        return torch.from_numpy(np.stack([self.row, target]))


@dataclass(frozen=True, eq=False)
class NeighborSampler:
    """Samples neighborhoods without repeats, from a seed.

    Args:
        graph: The edges, sorted by target.
        fanouts: How many neighbors of each node, at most, for each hop from the seeds on; -1 for
            all.
        seed: The seed.

    Raises:
        InputError: A fanout is neither -1 nor at least 1.
    """

    graph: CscGraph
    fanouts: Sequence[int]
    seed: int = 0

    def __post_init__(self) -> None:
        for fanout in self.fanouts:
            if fanout != ALL and fanout < 1:
                raise InputError(
                    "fanout", "must be at least 1", value=fanout, way_out="give -1 for all"
                )

    def sample(self, seeds: NDArray[Any], epoch: int = 0, number: int = 0) -> SampledBatch:
        """The sampled neighborhood of some seeds.

        Args:
            seeds: Node numbers, without repeats.
            epoch: The epoch, counted from 0.
            number: The batch's number in the epoch, counted from 0.

        Raises:
            InputError: A seed is not a node, or occurs twice.
        """
        seeds = self._checked(seeds)
        nodes, sources, places = _Numbers(seeds), [], []
        ptr, sizes = [np.zeros(1, np.int64)], [len(seeds)]
        # Independent of the hop: a node has the same neighbors however it was found.
        key = _key(self.seed, epoch, number)
        for fanout in self.fanouts:
            targets = nodes.added(sizes[-1])
            offsets = self._offsets(targets, fanout)
            e_id, source = (np.empty(offsets[-1], np.int64) for _ in range(2))
            sample_edges(self.graph.colptr, self.graph.row, targets, key, offsets, e_id, source)
            before = nodes.count
            sources.append(nodes.number(source))
            sizes.append(nodes.count - before)
            places.append(e_id)
            ptr.append(offsets[1:] + ptr[-1][-1])
        return SampledBatch(
            nodes.added(nodes.count).copy(),
            np.concatenate(ptr),
            _joined(sources),
            _joined(places),
            sizes,
            [len(part) for part in sources],
        )

    def _checked(self, seeds: NDArray[Any]) -> IntArray:
        seeds = np.ascontiguousarray(seeds, np.int64)
        outside = (seeds < 0) | (seeds >= self.graph.num_nodes)
        if outside.any():
            raise InputError(
                "seeds",
                f"must be at least 0 and below {self.graph.num_nodes}, the number of nodes",
                value=int(seeds[outside][0]),
                way_out="number the nodes from 0 on",
            )
        if len(np.unique(seeds)) < len(seeds):
            raise InputError("seeds", "repeat a node", way_out="give every node once")
        return seeds

    def _offsets(self, targets: IntArray, fanout: int) -> IntArray:
        """The first edge of each target among those of this hop, and their number."""
        counts = self.graph.degrees(targets)
        if fanout != ALL:
            counts = np.minimum(counts, fanout)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


class _Numbers:
    """The nodes of a batch, numbered as they are found."""

    def __init__(self, seeds: IntArray) -> None:
        self._n_id, self._table, self.count = seeds, np.zeros(0, np.int32), 0
        self.number(seeds)

    def added(self, last: int) -> IntArray:
        """The last nodes that were numbered."""
        return self._n_id[self.count - last : self.count]

    def number(self, nodes: IntArray) -> IntArray:
        """The number of each of some nodes of the graph; new ones get the next numbers."""
        known = self._n_id[: self.count]
        room = self.count + len(nodes)
        self._n_id = np.empty(room, np.int64)
        self._n_id[: self.count] = known
        if 2 * room > len(self._table):
            self._table = np.full(1 << (2 * room).bit_length(), -1, np.int32)
            number_nodes(known, self._n_id, 0, self._table, np.empty(len(known), np.int64))
        local = np.empty(len(nodes), np.int64)
        self.count = int(number_nodes(nodes, self._n_id, self.count, self._table, local))
        return local


def _key(*parts: int) -> np.uint64:
    """One word of a seed and some counters, well mixed."""
    word = np.zeros(1, np.uint64)
    for part in parts:
        word = splitmix64(word + np.uint64(part % 2**64) + np.uint64(1))
    return np.uint64(word[0])


def _joined(parts: Sequence[IntArray]) -> IntArray:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
