"""`CscGraph`: the edges sorted by target, in arrays that may be memory-mapped files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nodewise.errors import GraphError

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class CscGraph:
    """The edges sorted by target: compressed sparse columns, as PyG's samplers take them.

    A sampler reads only what it needs, so each array may be larger than memory.

    Attributes:
        colptr: Target v's edges are `colptr[v]` to `colptr[v + 1]`, shape (N + 1,).
        row: The source of each edge, shape (E,).
        edge_weight: The weight of each edge, shape (E,), or None.
    """

    colptr: NDArray[np.integer[Any]]
    row: NDArray[np.integer[Any]]
    edge_weight: NDArray[np.floating[Any]] | None = None

    def __post_init__(self) -> None:
        # A plain view: compiled code takes no subclass such as np.memmap.
        for name in ("colptr", "row", "edge_weight"):
            array = getattr(self, name)
            object.__setattr__(self, name, None if array is None else np.asarray(array))
        ends = (int(self.colptr[0]), int(self.colptr[-1])) if len(self.colptr) else (0, -1)
        if ends != (0, len(self.row)):
            raise GraphError(
                "colptr",
                f"must start at 0 and end at {len(self.row)}, the number of edges",
                value=ends,
                way_out="sort the edges by target: CscGraph.from_edges",
            )

    @classmethod
    def from_edges(
        cls, edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None = None
    ) -> CscGraph:
        """Sort edges (2, E) by target, keeping the given order among those of one target."""
        source, target = edge_index.cpu().numpy()
        order = np.argsort(target, kind="stable")
        colptr = np.zeros(num_nodes + 1, np.int64)
        np.cumsum(np.bincount(target, minlength=num_nodes), out=colptr[1:])
        weight = None if edge_weight is None else edge_weight.cpu().numpy()[order]
        return cls(colptr, source[order], weight)

    @property
    def num_nodes(self) -> int:
        """How many nodes there are, with or without edges."""
        return len(self.colptr) - 1

    @property
    def num_edges(self) -> int:
        """How many edges there are."""
        return len(self.row)

    def degrees(self, nodes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """How many edges lead to each of some nodes."""
        return np.asarray(self.colptr[nodes + 1] - self.colptr[nodes], np.int64)
