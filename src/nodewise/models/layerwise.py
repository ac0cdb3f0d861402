"""The forward pass layer by layer over a whole graph, in parts: memory is bounded by the part.

Each layer is computed for some consecutive targets at a time, with all their neighbors, and its
rows are stored before the next layer begins. So every row is computed once, however deep the model
is, and the result is that of the full graph, but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

import torch
from torch import Tensor

from nodewise.models.classifier import Classifier, of_targets
from nodewise.models.graph_parts import EdgesByTarget, GraphParts
from nodewise.models.linear_ends import Front
from nodewise.models.memory import layer_rows, part_cost
from nodewise.models.stored_rows import FeatureRows, RowsInMemory, StoredRows
from nodewise.nn.aggregators.sums import GCN_RULE
from nodewise.nn.base_conv import dense_rows
from nodewise.nn.block import Block, BlockRule
from nodewise.ops.dispatch import sum_neighbors
from nodewise.ops.sparse import Features

# Larger parts gain nothing: computing one takes many times as long as beginning it.
_LARGEST_PART = 1 << 28

# Called with how many rows are computed, and how many there are.
Watch = Callable[[int, int], None]


def unwatched(done: int, total: int) -> None:
    """A `Watch` for which nobody waits."""


class Outputs(NamedTuple):
    """The outputs of a model for some nodes.

    Attributes:
        nodes: Their numbers.
        logits: Their logits, shape (n, classes).
        embedding: The input of the last layer, as `Classifier.embed` returns it, shape (n, width);
            None if it was not asked for.
    """

    nodes: range
    logits: Tensor
    embedding: Tensor | None = None


class Layerwise:
    """A model that is computed layer by layer, without dropout.

    Args:
        model: The model; it is set to evaluation.
        x: The features of all nodes.
        graph: The edges.
        memory: How many bytes may be used, besides features and edges.
        folder: Where temporary files go; None for the system's folder.
        watch: Called after every part.
    """

    def __init__(
        self,
        model: Classifier,
        x: FeatureRows,
        graph: EdgesByTarget,
        memory: int,
        folder: Path | None = None,
        watch: Watch = unwatched,
    ) -> None:
        weight = next(model.parameters())
        self.model, self.x, self.folder, self.watch = model.eval(), x, folder, watch
        self.parts = GraphParts(graph, weight.dtype, weight.device)
        hops = 0 if model.ends is None else model.ends.hops
        self._stages = model.depth + (model.ends is not None) + (hops + 1 if hops else 0)
        # Half for the rows that are stored at once; the rest is for a part and what it leaves.
        self._in_memory = memory // (2 * (2 + hops))
        largest = max(part_cost(size) for size in layer_rows(model))
        self._cuts = list(self.parts.cuts(min(_LARGEST_PART, memory // 4) // largest))
        self._done = 0

    @torch.no_grad()
    def outputs(self) -> Iterator[Outputs]:
        """Logits and embeddings of all nodes, part by part, in the order of the nodes."""
        *_, rows = self.inputs()
        last = self.model.depth - 1
        for nodes in self._each():
            x, block = self._sources(self._rule(last), rows, nodes)
            out = self.model.layer(last, x, block)
            embedding = of_targets(x, block) if self.model.ends is None else out
            yield Outputs(nodes, self.model.head(out), dense_rows(embedding))

    @torch.no_grad()
    def inputs(self) -> Iterator[FeatureRows]:
        """The input of every layer, first to last."""
        ends = self.model.ends
        rows = self.x if ends is None else self._front(ends.front)
        yield rows
        for i in range(self.model.depth - 1):
            rows = self._stored(partial(self._layer, i, rows))
            yield rows

    def layer_inputs(self) -> list[Features]:
        """The input of every layer, as `Classifier.layer_inputs` returns it, in memory."""
        every = torch.arange(self.parts.num_nodes)
        return [
            rows.x if isinstance(rows, RowsInMemory) else rows.take(every) for rows in self.inputs()
        ]

    @torch.no_grad()
    def first_layer(self) -> Iterator[tuple[range, Features, Block | None]]:
        """Some targets, the rows of their sources before the first layer, and their block."""
        rows = next(self.inputs())
        for nodes in self._each():
            yield nodes, *self._sources(self._rule(0), rows, nodes)

    def _layer(self, i: int, rows: FeatureRows, nodes: range) -> Tensor:
        """The rows of some targets after a layer."""
        return self.model.layer(i, *self._sources(self._rule(i), rows, nodes))

    def _rule(self, i: int) -> BlockRule | None:
        return self.model.layers[i].aggregator.rule if self.model.layers else None

    def _front(self, front: Front) -> FeatureRows:
        """The features in the width of the stack, averaged over the hops."""

        def wide(nodes: range) -> Tensor:
            rows: Tensor = front.linear(self._sources(None, self.x, nodes)[0])
            return rows

        if not front.hops:
            return self._stored(lambda nodes: self.model.act(wide(nodes) + front.bias))
        hops = [self._stored(wide)]
        for _ in range(front.hops):
            hops.append(self._stored(partial(self._spread, hops[-1])))

        def mean(nodes: range) -> Tensor:
            total = sum(cast(Tensor, self._sources(None, rows, nodes)[0]) for rows in hops)
            return self.model.act(total / len(hops) + front.bias)

        return self._stored(mean)

    def _spread(self, rows: FeatureRows, nodes: range) -> Tensor:
        """The rows of some targets, one hop further."""
        x, block = self._sources(GCN_RULE, rows, nodes)
        assert block is not None
        return sum_neighbors(cast(Tensor, x), block.coefficient, block.neighbors)

    def _sources(
        self, rule: BlockRule | None, rows: FeatureRows, nodes: range
    ) -> tuple[Features, Block | None]:
        """The rows of the sources of some targets, and their block; without a rule, of targets."""
        block, n_id = None, torch.arange(nodes.start, nodes.stop)
        if rule is not None:
            block, n_id = self.parts.block(rule, nodes)
        x = rows.take(n_id)
        return x.to(self.parts.device) if isinstance(x, Tensor) else x, block

    def _stored(self, compute: Callable[[range], Tensor]) -> FeatureRows:
        """The rows of all nodes, computed part by part."""
        stored = StoredRows(self.parts.num_nodes, self._in_memory, self.folder)
        for nodes in self._each():
            stored.append(compute(nodes))
        return stored

    def _each(self) -> Iterator[range]:
        """The parts, counted."""
        for nodes in self._cuts:
            yield nodes
            self._done += len(nodes)
            self.watch(self._done, self._stages * self.parts.num_nodes)
