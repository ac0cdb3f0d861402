"""Outputs of a model for all nodes: in one pass over the full graph, or layer by layer.

One rule for training's end, predictions, pages and analysis: where the full pass would need more
than the budget, a stack of layers is computed layer by layer. The result is the same, but for
rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import Module

from nodewise.data.sampling.csc import CscGraph
from nodewise.models.classifier import Classifier
from nodewise.models.embedding import embed
from nodewise.models.layerwise import Layerwise, Outputs, Watch, unwatched
from nodewise.models.memory import forward_bytes, memory_budget
from nodewise.models.stored_rows import FeatureRows, RowsInMemory
from nodewise.nn.base_conv import dense_rows
from nodewise.nn.edges import plain_edges
from nodewise.ops.sparse import Features, as_features, num_rows
from nodewise.training.inputs import normalize, prepare

_COPY = 20  # bytes of an edge as a model takes it, two int64 and a float32


@dataclass(frozen=True, eq=False)
class MappedGraph:
    """Features and edges in files, of which a pass reads what it needs.

    Attributes:
        rows: The features as they are in the files, such as a `GraphStore`.
        csc: The edges; without weights if the model takes none.
        features: How features are normalized, see `prepare`.
    """

    rows: FeatureRows
    csc: CscGraph
    features: str

    def take(self, n_id: Tensor) -> Features:
        """The prepared features of some nodes."""
        return normalize(self.rows.take(n_id), self.features)

    def arguments(self) -> tuple[Any, ...]:
        """The arguments of a model, read into memory."""
        x = dense_rows(self.rows.take(torch.arange(self.csc.num_nodes)))
        target = np.repeat(np.arange(self.csc.num_nodes), np.diff(self.csc.colptr))
        edges = np.stack([np.asarray(self.csc.row, np.int64), target])
        graph: tuple[Any, ...] = (prepare(x, self.features), torch.from_numpy(edges))
        if self.csc.edge_weight is None:
            return graph
        return *graph, torch.from_numpy(np.array(self.csc.edge_weight))


Inputs = tuple[Any, ...] | MappedGraph


@dataclass(frozen=True)
class Inference:
    """How all nodes are computed.

    Attributes:
        memory: How many bytes a pass may take, besides what is in memory already; by default half
            of the machine's memory.
        folder: Where temporary files go; None for the system's folder.
        watch: Called after every part with the rows that are computed, and all of them.
    """

    memory: int = field(default_factory=lambda: memory_budget(None))
    folder: Path | None = None
    watch: Watch = unwatched

    @classmethod
    def within(cls, memory: int | None, watch: Watch = unwatched) -> Self:
        """With a budget in bytes, or the default if there is none."""
        return cls(watch=watch) if memory is None else cls(memory, watch=watch)

    def in_parts(self, model: Module, inputs: Inputs) -> Layerwise | None:
        """The pass layer by layer; None where the full pass fits, or the model is of another kind.

        Args:
            model: The model.
            inputs: Its arguments, or files.
        """
        if not isinstance(model, Classifier) or self._fits(model, inputs):
            return None
        if isinstance(inputs, MappedGraph):
            graph: tuple[FeatureRows, CscGraph] = (inputs, inputs.csc)
        else:
            graph = _in_memory(next(model.parameters()), *inputs)
        return Layerwise(model, *graph, self.memory, self.folder, self.watch)

    @torch.no_grad()
    def outputs(self, model: Module, inputs: Inputs, embeddings: bool = False) -> Iterator[Outputs]:
        """Logits of all nodes in the order of their numbers, some nodes at a time.

        Args:
            model: The model; it is set to evaluation.
            inputs: Its arguments, or files.
            embeddings: Whether the embeddings are wanted, too.

        Raises:
            InputError: Embeddings are wanted of a model that has none.
        """
        parts = self.in_parts(model.eval(), inputs)
        if parts is not None:
            yield from parts.outputs()
            return
        arguments = inputs.arguments() if isinstance(inputs, MappedGraph) else inputs
        rows = embed(model, *arguments) if embeddings else None
        logits: Tensor = model(*arguments)
        yield Outputs(range(len(logits)), logits, rows)

    def logits(self, model: Module, inputs: Inputs) -> Tensor:
        """Logits of all nodes, shape (N, classes).

        Args:
            model: The model; it is set to evaluation.
            inputs: Its arguments, or files.
        """
        found = [part.logits for part in self.outputs(model, inputs)]
        return found[0] if len(found) == 1 else torch.cat(found)

    def _fits(self, model: Module, inputs: Inputs) -> bool:
        if isinstance(inputs, MappedGraph):
            nodes, edges = inputs.csc.num_nodes, inputs.csc.num_edges
            row = dense_rows(inputs.rows.take(torch.zeros(1, dtype=torch.int64)))
            copies = nodes * row.nbytes + _COPY * edges
        else:
            nodes, edges, copies = num_rows(inputs[0]), _num_edges(inputs[1]), 0
        return forward_bytes(model, nodes, edges) + copies <= self.memory


def _in_memory(
    weight: Tensor, x: Features, edge_index: Tensor, edge_weight: Tensor | None = None
) -> tuple[FeatureRows, CscGraph]:
    count = num_rows(x)
    edges = plain_edges(edge_index, edge_weight, (count, count), weight)
    return RowsInMemory(as_features(x)), CscGraph.from_edges(edges[0], count, edges[1])


def _num_edges(edge_index: Tensor) -> int:
    return edge_index.size(1) if edge_index.layout == torch.strided else edge_index._nnz()
