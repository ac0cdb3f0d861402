"""C_v for every target node v: the edges sorted by target, and their reverse sorted by source."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from nodewise.errors import InputError
from nodewise.ops.safety import check_edges, check_index, check_shape, has_numbers


def offsets(index: Tensor, size: int) -> Tensor:
    """The first place of each number in a sorted index: size + 1 offsets."""
    counts = index.new_zeros(size + 1).scatter_add_(0, index + 1, torch.ones_like(index))
    return counts.cumsum(0)


def check_edge_shape(edge_index: Tensor) -> None:
    """Check that a tensor can hold edges.

    Raises:
        InputError: It has another shape or type.
    """
    if edge_index.dim() != 2 or edge_index.size(0) != 2 or edge_index.dtype != torch.int64:
        raise InputError(
            "edge_index",
            "must be int64 of shape (2, E): sources above targets",
            value=f"{tuple(edge_index.shape)}, {edge_index.dtype}",
            way_out="transpose or convert it",
        )


def check_edge_index(edge_index: Tensor, num_targets: int, num_sources: int) -> None:
    """Check that every edge leads from a source node to a target node.

    Raises:
        InputError: An edge does not, or the tensor does not hold edges.
    """
    check_edge_shape(edge_index)
    check_ends("edge_index", edge_index, (num_sources, num_targets))


def check_ends(name: str, ends: Tensor, num_nodes: tuple[int, int]) -> None:
    """Check that two rows of node numbers, shape (2, E), are each in range.

    Args:
        name: The caller's name for the tensor.
        ends: The node numbers.
        num_nodes: How many nodes each of the two rows may name.

    Raises:
        InputError: One is outside; the error has its place, its value and the number of nodes.
    """
    bounds = torch.tensor(num_nodes, device=ends.device)[:, None]
    outside = (ends < 0) | (ends >= bounds)
    if torch.compiler.is_compiling():
        torch._assert_async(~outside.any(), f"{name} names a node that is not there")
    elif has_numbers(outside) and bool(outside.any()):
        row, entry = outside.nonzero()[0].tolist()
        raise InputError(
            name,
            f"must be at least 0 and below {num_nodes[row]}, the number of nodes",
            value=int(ends[row, entry]),
            position=(row, entry),
            way_out="number the nodes from 0 on, or give features to all of them",
        )


@dataclass(frozen=True)
class Neighborhood:
    """The edges of a graph in the order in which the kernels read them; see `from_edges`.

    Attributes:
        source: The source node u of each edge, edges sorted by target, shape (E,).
        target: The target node v of each edge, ascending, shape (E,).
        ptr: Target v's edges are `ptr[v]` to `ptr[v + 1]`, shape (targets + 1,).
        edge_id: The place of each edge in the `edge_index` it comes from, shape (E,).
        num_sources: How many source nodes there are, with or without edges.
        is_identity: Whether every node has one edge, from itself.
    """

    source: Tensor
    target: Tensor
    ptr: Tensor
    edge_id: Tensor
    num_sources: int
    is_identity: bool = False
    # Caches `reverse`; functools.cached_property does not compile.
    _reverse: list[Neighborhood] = field(
        default_factory=list, init=False, repr=False, compare=False
    )
    # Caches `each` and `edge_number`.
    _each: list[Tensor] = field(default_factory=list, init=False, repr=False, compare=False)
    # Caches `shares`, by type.
    _shares: dict[torch.dtype, Tensor] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if has_numbers(self.source):
            check_edges(self.source, self.ptr, self.num_sources, None)
            check_shape("target", self.target, (self.num_edges,))
            check_index("target", self.target, self.num_targets, of="targets")

    @classmethod
    def from_edges(
        cls, edge_index: Tensor, num_targets: int, num_sources: int | None = None
    ) -> Neighborhood:
        """Sort edges by target, keeping the given order among the edges of one target.

        Args:
            edge_index: Sources and targets, shape (2, E), int64.
            num_targets: How many target nodes there are.
            num_sources: How many source nodes; as many as targets if not given.
        """
        check_edge_index(edge_index, num_targets, num_sources or num_targets)
        source, target = edge_index
        target, order = torch.sort(target, stable=True)
        ptr = offsets(target, num_targets)
        return cls(source[order], target, ptr, order, num_sources or num_targets)

    @property
    def num_targets(self) -> int:
        """How many target nodes there are."""
        return self.ptr.numel() - 1

    @property
    def num_edges(self) -> int:
        """How many edges there are, self-loops included."""
        return self.source.numel()

    def identity(self) -> Neighborhood:
        """The same targets, each with one edge, from itself."""
        ptr = torch.arange(self.num_targets + 1, device=self.ptr.device)
        return Neighborhood(ptr[:-1], ptr[:-1], ptr, ptr[:-1], self.num_targets, is_identity=True)

    @property
    def degree(self) -> Tensor:
        """|C_v| for each target."""
        return self.ptr[1:] - self.ptr[:-1]

    @property
    def each(self) -> Tensor:
        """0, 1, ... E: the offsets of runs of one edge each, shape (E + 1,)."""
        if torch.compiler.is_compiling():
            return torch.arange(self.num_edges + 1, device=self.ptr.device)
        if not self._each:
            with torch.inference_mode(False):  # a later call may need gradients
                each = torch.arange(self.num_edges + 1, device=self.ptr.device)
                self._each.extend([each, each[:-1]])
        return self._each[0]

    @property
    def edge_number(self) -> Tensor:
        """0, 1, ... E - 1, shape (E,)."""
        each = self.each
        return each[:-1] if torch.compiler.is_compiling() else self._each[1]

    def shares(self, dtype: torch.dtype) -> Tensor:
        """1 / |C_v| on each edge to v: the weights of a mean, shape (E,)."""
        if torch.compiler.is_compiling():
            return self._shared(dtype)
        if dtype not in self._shares:
            with torch.inference_mode(False):  # a later call may need gradients
                self._shares[dtype] = self._shared(dtype)
        return self._shares[dtype]

    def _shared(self, dtype: torch.dtype) -> Tensor:
        return self.degree.to(dtype).reciprocal()[self.target]

    @property
    def reverse(self) -> Neighborhood:
        """The same edges seen from the sources; its `edge_id` points into this order."""
        if torch.compiler.is_compiling():
            return self._reversed()
        if not self._reverse:
            with torch.inference_mode(False):  # a later call may need gradients
                self._reverse.append(self._reversed())
        return self._reverse[0]

    def _reversed(self) -> Neighborhood:
        source, order = torch.sort(self.source, stable=True)
        ptr = offsets(source, self.num_sources)
        return Neighborhood(self.target[order], source, ptr, order, self.num_targets)
