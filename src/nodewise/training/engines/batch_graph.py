"""The graphs that mini-batches are taken from: in memory, or in files larger than memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodewise.data.csc import CscGraph
from nodewise.data.splits.split import Split
from nodewise.data.store import GraphStore
from nodewise.models.classifier import Classifier
from nodewise.models.layerwise import Layerwise
from nodewise.models.memory import forward_bytes, memory_budget
from nodewise.models.stored_rows import Rows
from nodewise.ops.sparse import Features, take_rows
from nodewise.training.engines.base import TrainingGraph
from nodewise.training.engines.transfer import moved
from nodewise.training.inputs import normalize


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
        """The classes of some nodes, on the CPU."""

    def take(self, nodes: Tensor) -> Features:
        """The features of some nodes, prepared, on the CPU."""

    def logits(self, model: Classifier, memory: int | None) -> Tensor:
        """The logits of all nodes from all their neighbors, in that memory or the default's."""


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

    def logits(self, model: Classifier, memory: int | None) -> Tensor:
        """The logits of all nodes: in one pass if it fits, else layer by layer."""
        graph, limit = self.graph, memory or memory_budget(None)
        if forward_bytes(model, graph.y.numel(), graph.edge_index.size(1)) <= limit:
            return model(graph.x, graph.edge_index, graph.edge_weight)
        return layerwise_logits(model, self, self.csc, limit)


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

    def labels(self, nodes: NDArray[Any]) -> Tensor:
        """The classes of some nodes."""
        return torch.from_numpy(np.array(self.store.y[nodes], np.int64))

    def take(self, nodes: Tensor) -> Features:
        """The features of some nodes; no other rows are read."""
        return normalize(self.store.take(nodes), self.features)

    def logits(self, model: Classifier, memory: int | None) -> Tensor:
        """The logits of all nodes, layer by layer."""
        return layerwise_logits(model, self, self.csc, memory or memory_budget(None))


def layerwise_logits(model: Classifier, rows: Rows, csc: CscGraph, memory: int) -> Tensor:
    """The logits of all nodes, computed layer by layer in bounded memory."""
    return torch.cat([part.logits for part in Layerwise(model, rows, csc, memory).outputs()])
