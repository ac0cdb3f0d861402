"""A stack of layers, opened: the input and the graph of every layer, and single nodes of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodewise.analysis.predictions import arguments
from nodewise.analysis.subject import Subject
from nodewise.models.receptive_field import ReceptiveField
from nodewise.nn.aggregators import AggregationInputs, Aggregator, Messages, Sum
from nodewise.nn.base_conv import BaseConv
from nodewise.nn.block import Block
from nodewise.nn.levels import LEVELS, with_levels
from nodewise.ops.sparse import Features, SparseRows, as_features, take_rows
from nodewise.runs.axes import principal
from nodewise.training.inference import Inference


class Received(NamedTuple):
    """The messages that one node receives in a layer, from each member of C_v.

    Attributes:
        sources: The numbers of the members, shape (n,).
        unlocalized: W h_u, shape (n, H, out).
        unmodulated: W_v h_u, without the edge level, shape (n, H, out).
        messages: What is aggregated, both levels on, shape (n, H, out).
        weights: The weight of each message in the aggregation, the mean over heads, shape (n,).
    """

    sources: NDArray[np.int64]
    unlocalized: Tensor
    unmodulated: Tensor
    messages: Tensor
    weights: NDArray[np.float64]


class _Listener(Aggregator):
    """Another aggregator that keeps what it receives."""

    def __init__(self, aggregator: Aggregator) -> None:
        super().__init__()
        self.rule, self.aggregator = aggregator.rule, aggregator
        self.received: list[tuple[Messages, AggregationInputs]] = []

    def forward(self, messages: Messages, inputs: AggregationInputs) -> Tensor:
        """The output of the other aggregator."""
        self.received.append((messages, inputs))
        out: Tensor = self.aggregator(messages, inputs)
        return out


@dataclass(frozen=True, eq=False)
class LayerView:
    """A subject whose model is a stack of layers.

    Attributes:
        subject: The model and the graph.
    """

    subject: Subject

    @property
    def layers(self) -> list[BaseConv]:
        """The convs, first to last; none in a model that uses no graph."""
        return self.subject.layered.layers

    @cached_property
    def inputs(self) -> list[Features]:
        """The input of every layer, all nodes."""
        model, given = self.subject.layered, self._arguments
        parts = Inference().in_parts(model, given)
        if parts is not None:
            return parts.layer_inputs()
        with torch.no_grad():
            return model.layer_inputs(*given)

    @property
    def _arguments(self) -> tuple[Any, ...]:
        return arguments(self.subject.x, *self.subject.graph)

    @cached_property
    def blocks(self) -> list[Block]:
        """The full graph of every layer."""
        count, (edge_index, edge_weight) = self.subject.num_nodes, self.subject.graph
        return [conv.block(edge_index, (count, count), edge_weight) for conv in self.layers]

    def principal(self, count: int) -> NDArray[np.float64]:
        """The input of the last layer on its first principal axes, shape (N, count)."""
        found = Inference().outputs(self.subject.layered, self._arguments, embeddings=True)
        rows = torch.cat([part.embedding for part in found if part.embedding is not None])
        return principal(lambda: iter([rows.double()]), *rows.shape, count=count)

    def context(self, node: int) -> NDArray[np.int64]:
        """The numbers of the members of C_v, as often as they occur; the node without a graph."""
        if not self.layers:
            return np.array([node])
        neighbors = self.blocks[0].neighbors
        members = neighbors.source[neighbors.ptr[node] : neighbors.ptr[node + 1]]
        return np.asarray(members.cpu().numpy())

    def field(self, node: int) -> tuple[tuple[Any, ...], int]:
        """The arguments of the model for one node, and the row of its logits."""
        model, subject = self.subject.layered, self.subject
        if model.needs_all_nodes or not self.layers:
            return self._arguments, node
        field = ReceptiveField.of(self.blocks, self._targets(node))
        return (field.take(subject.x), field), 0

    def _targets(self, node: int) -> Tensor:
        return torch.tensor([node], device=self.subject.edge_index.device)

    @torch.no_grad()
    def received(self, layer: int, node: int) -> Received:
        """The messages that a node receives in a layer, with its levels off and on."""
        conv, block = self.layers[layer], self.blocks[layer]
        restricted, nodes = block.restrict(self._targets(node))
        rows = take_rows(as_features(self.inputs[layer]), nodes)
        found = [_listen(conv, levels, rows, restricted) for levels in ((), ("node",), LEVELS)]
        messages, inputs = found[-1]
        return Received(
            nodes[restricted.neighbors.source].cpu().numpy(),
            found[0][0].raw,
            found[1][0].raw,
            messages.raw,
            _weights(conv.aggregator, messages, inputs),
        )


def _listen(
    conv: BaseConv, levels: tuple[str, ...], rows: Features, block: Block
) -> tuple[Messages, AggregationInputs]:
    """The messages of a conv with these levels, and the inputs of its aggregator."""
    twin = with_levels(conv, levels)
    listener = _Listener(twin.aggregator)
    twin.aggregator = listener
    twin(rows, block)
    return listener.received[-1]


def _weights(
    aggregator: Aggregator, messages: Messages, inputs: AggregationInputs
) -> NDArray[np.float64]:
    """The weight of each message; that of the edge where the aggregation is not a weighted sum."""
    weight = inputs.block.coefficient
    if isinstance(aggregator, Sum):
        weight = aggregator.weights(inputs, messages.raw)
    if weight is None:
        return np.ones(len(messages.raw))
    weight = weight.detach().double().cpu().expand(len(messages.raw), *weight.shape[1:])
    return np.asarray(weight.view(len(messages.raw), -1).mean(1).numpy())


def total_and_count(x: Features, nodes: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
    """The sum of some rows, and in how many of them each column is not zero, shape (in,) each."""
    rows = take_rows(as_features(x), torch.as_tensor(nodes, device=x.device))
    if not isinstance(rows, SparseRows):
        return rows.sum(0), (rows != 0).sum(0)
    total, count = rows.values.new_zeros(rows.width), torch.zeros(rows.width, device=x.device)
    columns = rows.col.long()
    total.index_add_(0, columns, rows.values)
    return total, count.index_add_(0, columns, (rows.values != 0).to(count)).long()
