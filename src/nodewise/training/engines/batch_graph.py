"""The graphs that mini-batches are taken from: in memory, or in files larger than memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import torch
from numpy.typing import NDArray
from torch import Tensor

from nodewise.data.csc import CscGraph
from nodewise.data.splits.split import Split
from nodewise.ops.sparse import Features, take_rows
from nodewise.training.engines.base import TrainingGraph


class BatchGraph(Protocol):
    """What an engine asks of a graph from which it takes batches."""

    @property
    def csc(self) -> CscGraph:
        """The edges, sorted by target."""

    @property
    def split(self) -> Split:
        """The training, validation and test nodes."""

    @property
    def device(self) -> torch.device:
        """Where to compute."""

    def labels(self, nodes: NDArray[Any]) -> Tensor:
        """The classes of some nodes."""

    def take(self, nodes: NDArray[Any]) -> Features:
        """The features of some nodes, prepared."""


@dataclass(frozen=True, eq=False)
class MemoryGraph:
    """A graph in memory.

    Attributes:
        graph: The graph, on any device.
    """

    graph: TrainingGraph

    @cached_property
    def csc(self) -> CscGraph:
        """The edges, sorted by target."""
        graph = self.graph
        return CscGraph.from_edges(graph.edge_index, graph.y.numel(), graph.edge_weight)

    @property
    def split(self) -> Split:
        """The training, validation and test nodes."""
        return self.graph.split

    @property
    def device(self) -> torch.device:
        """Where the graph is."""
        return self.graph.y.device

    def labels(self, nodes: NDArray[Any]) -> Tensor:
        """The classes of some nodes."""
        return self.graph.y[torch.from_numpy(nodes).to(self.device)]

    def take(self, nodes: NDArray[Any]) -> Features:
        """The features of some nodes."""
        return take_rows(self.graph.x, torch.from_numpy(nodes).to(self.device))
