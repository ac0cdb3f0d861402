"""The interface of aggregators: inputs, messages, and the weighted sum that most of them are."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from torch import Tensor
from torch.nn import Module

from nodewise.nn.block import Block, BlockRule
from nodewise.ops.dispatch import project, sum_edges
from nodewise.ops.sparse import Features


class AggregationInputs(NamedTuple):
    """The inputs of an aggregator besides the messages.

    Attributes:
        block: The edges, sorted by target, and their fixed weights.
        x_source: h_u of the layer's input.
        x_target: h_v of the layer's input on a bipartite graph; None where targets are sources.
        weight: The global W, shape (H, out, in).
        message_bias: The bias added to W_v h_u, shape (H, out), or None.
        edge_mask: An explainer's mask over the edges, shape (E,), or None.
    """

    block: Block
    x_source: Features
    x_target: Features | None
    weight: Tensor
    message_bias: Tensor | None
    edge_mask: Tensor | None


class Messages(NamedTuple):
    """The localized messages.

    Attributes:
        dropped: The messages after dropout, shape (E, H, out): what is aggregated.
        raw: The messages before dropout: attention is computed from these.
    """

    dropped: Tensor
    raw: Tensor


class Aggregator(Module):
    """Reduces the messages of C_v to one, shape (targets, H, out).

    This is the way to localize another GNN: `rule` defines C_v and the weights of its members,
    `forward` aggregates. A layer half-way between the mean and the sum:

    >>> import torch
    >>> from nodewise.nn import Aggregator, BlockRule, LocalizedConv
    >>> class HalfMean(Aggregator):
    ...     rule = BlockRule("set")
    ...
    ...     def forward(self, messages, inputs):
    ...         neighbors, rows = inputs.block.neighbors, messages.dropped
    ...         out = rows.new_zeros(neighbors.num_targets, *rows.shape[1:])
    ...         out = out.index_add(0, neighbors.target, rows)
    ...         return out / neighbors.degree.sqrt().view(-1, 1, 1)
    >>> conv = LocalizedConv(16, 4, aggregator=HalfMean())
    >>> tuple(conv(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape)
    (3, 4)

    Attributes:
        rule: Which nodes belong to C_v, and their weights.
        uses_edge_weights: Whether the result depends on `edge_weight`.
    """

    rule: BlockRule
    uses_edge_weights: ClassVar[bool] = True

    def forward(self, messages: Messages, inputs: AggregationInputs) -> Tensor:
        """The aggregated messages, shape (targets, H, out)."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Initialize all weights again; most aggregators have none."""


class Sum(Aggregator):
    """A weighted sum over C_v; subclasses define the weights.

    A W that is the same for many messages can act before or after such a sum, whichever is cheaper.

    Attributes:
        sees_messages: Whether the weights depend on the messages.
        is_fixed: Whether the weights are the block's coefficients and nothing else.
    """

    sees_messages: bool = False
    is_fixed: ClassVar[bool] = False

    def weights(self, inputs: AggregationInputs, raw: Tensor | None = None) -> Tensor | None:
        """The weight of every edge, (E,) or (E, H); None where all are one.

        Args:
            inputs: The edges and the nodes at their ends.
            raw: The messages before dropout, for weights that depend on them.
        """
        raise NotImplementedError

    def forward(self, messages: Messages, inputs: AggregationInputs) -> Tensor:
        """sum_u w_uv m_uv, times an explainer's mask if there is one."""
        weight, mask = self.weights(inputs, messages.raw), inputs.edge_mask
        if mask is not None:
            weight = mask if weight is None else weight * mask.view(-1, *[1] * (weight.dim() - 1))
        return sum_edges(messages.dropped, weight, inputs.block.neighbors)


def project_targets(inputs: AggregationInputs, weight: Tensor) -> Tensor:
    """weight h_v for every target, which may be among the sources or not, shape (targets, out)."""
    if inputs.x_target is None:
        return inputs.block.rows_of_targets(project(inputs.x_source, weight))
    return project(inputs.x_target, weight)
