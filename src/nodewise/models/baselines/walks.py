"""Seeded uniform random walks, the same bits on every machine and any number of threads.

A walk is a pure function of (seed, start, number of the walk): its t-th step draws
splitmix64(stream + t), the stream being hashed from the three. See `nodewise.randomness`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodewise.ops.compiled import device, kernel
from nodewise.ops.fused import threads
from nodewise.ops.neighbors import offsets
from nodewise.randomness import FrozenRandom

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
# One step takes as long as about this many multiply-adds, since it misses the cache.
_WORK_OF_A_STEP = 50


class Adjacency(NamedTuple):
    """Adjacency lists: node v's neighbors are `neighbors[ptr[v] : ptr[v + 1]]`, ascending."""

    ptr: NDArray[np.int64]
    neighbors: NDArray[np.int32]

    @classmethod
    def from_edges(cls, edge_index: Tensor, num_nodes: int) -> Adjacency:
        """The undirected graph of these edges, without self-loops and repeats."""
        edges = edge_index[:, edge_index[0] != edge_index[1]].cpu()
        source, target = torch.cat([edges, edges.flip(0)], 1)
        pairs = torch.unique(source * num_nodes + target)
        ptr = offsets(pairs // num_nodes, num_nodes)
        return cls(ptr.numpy(), (pairs % num_nodes).int().numpy())

    @property
    def num_nodes(self) -> int:
        """How many nodes there are, with or without neighbors."""
        return len(self.ptr) - 1


def random_walks(graph: Adjacency, *, walks: int, length: int, seed: int) -> NDArray[np.int32]:
    """Walks from every node, each step to a neighbor chosen uniformly.

    A node without neighbors is never left: its walks repeat it.

    Args:
        graph: The graph of the walks.
        walks: How many walks start at each node.
        length: How many nodes a walk visits, its start included.
        seed: Decides the walks.

    Returns:
        Node numbers, shape (walks * nodes, length): the first walk of every node, in the order of
        the nodes, then the second of every node, and so on.
    """
    nodes = np.arange(graph.num_nodes, dtype=np.int64)
    numbers = np.repeat(np.arange(walks, dtype=np.int64), graph.num_nodes)
    return _walks(graph, np.tile(nodes, walks), numbers, length, seed)


def walks_from(
    graph: Adjacency, starts: NDArray[np.int64], *, length: int, seed: int
) -> NDArray[np.int32]:
    """A walk from each of these nodes, independent of the others, shape (starts, length)."""
    return _walks(graph, starts, np.arange(len(starts), dtype=np.int64), length, seed)


def _walks(
    graph: Adjacency,
    starts: NDArray[np.int64],
    numbers: NDArray[np.int64],
    length: int,
    seed: int,
) -> NDArray[np.int32]:
    out = np.empty((len(starts), length), np.int32)
    key = FrozenRandom(seed, "walks").bits(1)[0]
    chunks, work = threads.chunks_for(len(out)), out.size * _WORK_OF_A_STEP
    threads.run(_walk, chunks, work, chunks, *graph, key, starts, numbers, out)
    return out


# Numba infers types from the arguments; annotations could only be wrong.
@device
def _splitmix64(key: Any) -> Any:
    z = key * _GOLDEN
    z = (z ^ (z >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    return z ^ (z >> _S31)


@kernel
def _walk(
    first: Any,
    last: Any,
    part: Any,
    chunks: Any,
    ptr: Any,
    neighbors: Any,
    key: Any,
    starts: Any,
    numbers: Any,
    out: Any,
) -> None:
    rows, length = out.shape
    for row in range(first * rows // chunks, last * rows // chunks):
        node = starts[row]
        # All uint64: Numba converts a sum of uint64 and int64 to a float.
        stream = _splitmix64(_splitmix64(key + np.uint64(node)) + np.uint64(numbers[row]))
        out[row, 0] = node
        for step in range(1, length):
            degree = ptr[node + 1] - ptr[node]
            if degree > 0:
                bits = _splitmix64(stream + np.uint64(step)) >> _S32
                node = neighbors[ptr[node] + np.int64((bits * np.uint64(degree)) >> _S32)]
            out[row, step] = node
