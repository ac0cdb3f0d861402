"""The graphs that mini-batches are taken from: in memory, or in files larger than memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodewise.data.sampling.csc import CscGraph
from nodewise.data.splits.split import Split
from nodewise.data.stores.store import GraphStore
from nodewise.ops.sparse import Features, take_rows
from nodewise.training.engines.base import TrainingGraph
from nodewise.training.engines.transfer import moved
from nodewise.training.inference import Inputs, MappedGraph
from nodewise.training.inputs import normalize


class BatchGraph(Protocol):
    """A graph from which an engine takes batches."""

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
        """The classes of some nodes, on the CPU."""

    def take(self, nodes: Tensor) -> Features:
        """The features of some nodes, prepared, on the CPU."""

    @property
    def inputs(self) -> Inputs:
        """The arguments of a model on the whole graph, or files."""


@dataclass(frozen=True, eq=False)
class MemoryGraph:
    """A graph in memory.

    Attributes:
        graph: The graph, on any device; batches are made on the CPU.
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

    @cached_property
    def _y(self) -> Tensor:
        return self.graph.y.cpu()

    @cached_property
    def _x(self) -> Features:
        return moved(self.graph.x, torch.device("cpu"))

    def labels(self, nodes: NDArray[Any]) -> Tensor:
        """The classes of some nodes."""
        return self._y[torch.from_numpy(np.array(nodes, np.int64))]

    def take(self, nodes: Tensor) -> Features:
        """The features of some nodes."""
        return take_rows(self._x, nodes)

    @property
    def inputs(self) -> Inputs:
        """The arguments of a model on the whole graph."""
        return self.graph.inputs


@dataclass(frozen=True, eq=False)
class StoredGraph:
    """A graph in files, of which only what a batch needs is read.

    Attributes:
        store: The files.
        split: The training, validation and test nodes.
        features: How features are normalized, as the recipe says.
        device: Where to compute.
    """

    store: GraphStore
    split: Split
    features: str = "none"
    device: torch.device = torch.device("cpu")  # noqa: RUF009  # immutable

    @property
    def csc(self) -> CscGraph:
        """The edges, sorted by target."""
        return self.store.csc

    @cached_property
    def y(self) -> Tensor:
        """The class of each node, -1 where there is none."""
        return torch.from_numpy(np.array(self.store.y, np.int64))

    @property
    def edge_weight(self) -> NDArray[Any] | None:
        """The weights of edges, if there are any."""
        return self.csc.edge_weight

    @property
    def degrees(self) -> Tensor:
        """How many edges lead to each node."""
        return torch.from_numpy(np.diff(self.csc.colptr))

    @property
    def inputs(self) -> Inputs:
        """The arguments of a model on the whole graph, which stay in their files."""
        return MappedGraph(self.store, self.csc, self.features)

    def labels(self, nodes: NDArray[Any]) -> Tensor:
        """The classes of some nodes."""
        return self.y[torch.from_numpy(np.array(nodes, np.int64))]

    def take(self, nodes: Tensor) -> Features:
        """The features of some nodes; no other rows are read."""
        return normalize(self.store.take(nodes), self.features)
