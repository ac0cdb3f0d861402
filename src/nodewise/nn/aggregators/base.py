"""What an aggregator is: its inputs, the messages, and the sum that most of them are."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from torch import Tensor
from torch.nn import Module

from nodewise.nn.block import Block, BlockRule
from nodewise.ops.dispatch import project, sum_edges
from nodewise.ops.sparse import Features


class AggregationInputs(NamedTuple):
    """What an aggregator may look at before there is any message.

    Attributes:
        block: The edges and their fixed weights.
        x_source: h_u of the layer's input.
        x_target: h_v of the layer's input on a bipartite graph; None where targets are sources.
        weight: The global W, shape (H, out, in).
        message_bias: What is added to W_v h_u, shape (H, out), or None.
        edge_mask: An explainer's mask over the edges, shape (E,), or None.
    """

    block: Block
    x_source: Features
    x_target: Features | None
    weight: Tensor
    message_bias: Tensor | None
    edge_mask: Tensor | None


class Messages(NamedTuple):
    """What arrives at an aggregator.

    Attributes:
        dropped: The messages, localized, shape (E, H, out).
        raw: The same before dropout: what attention may look at.
    """

    dropped: Tensor
    raw: Tensor


class Aggregator(Module):
    """Turns the messages of C_v into one, shape (targets, H, out).

    Attributes:
        rule: What C_v is and how its members weigh.
        uses_edge_weights: Whether the weight that an edge was given makes a difference.
    """

    rule: BlockRule
    uses_edge_weights: ClassVar[bool] = True

    def forward(self, messages: Messages, inputs: AggregationInputs) -> Tensor:
        """Aggregate."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Start anew; most aggregators have nothing to learn."""


class Sum(Aggregator):
    """A sum over C_v under weights; which, a subclass says.

    A W that is the same for many messages can act before or after such a sum, whichever is cheaper.

    Attributes:
        sees_messages: Whether the weights look at the messages.
        is_fixed: Whether the weights are the block's coefficients and nothing else.
    """

    sees_messages: bool = False
    is_fixed: ClassVar[bool] = False

    def weights(self, inputs: AggregationInputs, raw: Tensor | None = None) -> Tensor | None:
        """The weight of every edge, (E,) or (E, H); None where all are one.

        Args:
            inputs: The edges and the nodes at their ends.
            raw: The messages, for weights that look at them.
        """
        raise NotImplementedError

    def forward(self, messages: Messages, inputs: AggregationInputs) -> Tensor:
        """sum_u w_uv m_uv, under an explainer's mask if there is one."""
        weight, mask = self.weights(inputs, messages.raw), inputs.edge_mask
        if mask is not None:
            weight = mask if weight is None else weight * mask.view(-1, *[1] * (weight.dim() - 1))
        return sum_edges(messages.dropped, weight, inputs.block.neighbors)


def project_targets(inputs: AggregationInputs, weight: Tensor) -> Tensor:
    """weight h_v for every target, whether or not it is among the sources, shape (targets, out)."""
    if inputs.x_target is None:
        return inputs.block.rows_of_targets(project(inputs.x_source, weight))
    return project(inputs.x_target, weight)
