"""C_v for every target node v: the edges, sorted by target, and the way back sorted by source."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from nodewise.errors import InputError
from nodewise.ops.safety import check_edges, check_index, check_shape, has_numbers


def offsets(index: Tensor, size: int) -> Tensor:
    """Where each number's run begins in a sorted index: size + 1 offsets."""
    counts = index.new_zeros(size + 1).scatter_add_(0, index + 1, torch.ones_like(index))
    return counts.cumsum(0)


def check_edge_index(edge_index: Tensor, num_targets: int, num_sources: int) -> None:
    """Check that every edge leads from a source node to a target node.

    Raises:
        InputError: One does not, or the tensor is none of edges.
    """
    if edge_index.dim() != 2 or edge_index.size(0) != 2 or edge_index.dtype != torch.int64:
        raise InputError(
            "edge_index",
            "must be int64 of shape (2, E): sources above targets",
            value=f"{tuple(edge_index.shape)}, {edge_index.dtype}",
            way_out="transpose or convert it",
        )
    bounds = torch.tensor([[num_sources], [num_targets]], device=edge_index.device)
    outside = (edge_index < 0) | (edge_index >= bounds)
    if torch.compiler.is_compiling():
        torch._assert_async(~outside.any(), "edge_index names a node that is not there")
    elif has_numbers(outside) and bool(outside.any()):
        end, edge = outside.nonzero()[0].tolist()
        raise InputError(
            "edge_index",
            f"must be at least 0 and below {int(bounds[end])}, the number of nodes",
            value=int(edge_index[end, edge]),
            position=(end, edge),
            way_out="number the nodes from 0 on, or give features to all of them",
        )


@dataclass(frozen=True)
class Neighborhood:
    """The edges of a graph in the order the kernels walk them.

    Build it once with `Neighborhood.from_edges` and hand it to a model in place of `edge_index`:
    sorting is then paid once, not at every call.

    Attributes:
        source: The source node u of each edge, edges sorted by target, shape (E,).
        target: The target node v of each edge, ascending, shape (E,).
        ptr: Target v's edges are `ptr[v]` to `ptr[v + 1]`, shape (targets + 1,).
        edge_id: Where each edge stood in the `edge_index` it was made from, shape (E,).
        num_sources: How many source nodes there are, with or without edges.
        is_identity: Whether every node hears itself and nobody else.
    """

    source: Tensor
    target: Tensor
    ptr: Tensor
    edge_id: Tensor
    num_sources: int
    is_identity: bool = False
    # Holds `reverse` once it was asked for; functools.cached_property does not compile.
    _kept: list[Neighborhood] = field(default_factory=list, init=False, repr=False, compare=False)
    # What `each` and `edge_number` gave.
    _each: list[Tensor] = field(default_factory=list, init=False, repr=False, compare=False)
    # What `shares` gave, by type.
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
        """Each target with itself alone in its context."""
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
            with torch.inference_mode(False):  # it may be kept for learning
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
            with torch.inference_mode(False):  # it may be kept for learning
                self._shares[dtype] = self._shared(dtype)
        return self._shares[dtype]

    def _shared(self, dtype: torch.dtype) -> Tensor:
        return self.degree.to(dtype).reciprocal()[self.target]

    @property
    def reverse(self) -> Neighborhood:
        """The same edges seen from the sources; its `edge_id` points into this order."""
        if torch.compiler.is_compiling():
            return self._reversed()
        if not self._kept:
            with torch.inference_mode(False):  # it may be kept for learning
                self._kept.append(self._reversed())
        return self._kept[0]

    def _reversed(self) -> Neighborhood:
        source, order = torch.sort(self.source, stable=True)
        ptr = offsets(source, self.num_sources)
        return Neighborhood(self.target[order], source, ptr, order, self.num_targets)
