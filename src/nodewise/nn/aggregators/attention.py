"""Sums under attention: GAT and GATv2."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.nn.functional import leaky_relu

from nodewise.errors import InputError
from nodewise.nn.aggregators.base import AggregationInputs, Sum, project_targets
from nodewise.nn.aggregators.scores import Attention, softmax
from nodewise.nn.block import BlockRule
from nodewise.nn.inits import glorot, initialize
from nodewise.nn.lazy import new_weight
from nodewise.ops.dispatch import dropout, gather_sources, gather_targets, project


class Gat(Sum):
    """The attention-weighted sum of GAT.

    Args:
        out_channels: Size of a message.
        heads: How many heads.
        scores: The input of attention: "global", W h of both ends, as in GAT; or "messages", the
            localized messages, as in the released LGAT.
        dropout: Rate at which attention coefficients are dropped.
        bias: Whether the two scores have a bias each.
        init: Name of the initializer of the attention vectors.
        negative_slope: LeakyReLU's slope below zero.
        rule: Which nodes belong to C_v.
        target_width: Size of h_v on a bipartite graph, whose targets then have a separate weight;
            None where W is applied to both ends.
    """

    uses_edge_weights = False

    def __init__(
        self,
        out_channels: int,
        heads: int = 1,
        scores: Literal["global", "messages"] = "global",
        dropout: float = 0.0,
        bias: bool = False,
        init: str = "glorot",
        negative_slope: float = 0.2,
        rule: BlockRule | None = None,
        target_width: int | None = None,
    ) -> None:
        super().__init__()
        # The target's score is computed from the message of v to itself, which must be kept.
        self.rule = replace(rule or BlockRule(), keeps_self=scores == "messages")
        self.scores, self.dropout = scores, dropout
        self.attention = Attention(out_channels, heads, bias, init, negative_slope)
        self.target_weight = (
            None
            if target_width is None
            else new_weight(heads, out_channels, target_width, init="glorot")
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize the attention vectors again."""
        self.attention.reset_parameters()
        if self.target_weight is not None:
            initialize(self.target_weight, "glorot")

    @property
    def sees_messages(self) -> bool:  # type: ignore[override]
        """Whether attention is computed from the localized messages."""
        return self.scores == "messages"

    def alpha(self, inputs: AggregationInputs, raw: Tensor | None) -> Tensor:
        """The attention coefficients, shape (E, H)."""
        block, x_source, x_target, weight, *_ = inputs
        if self.sees_messages:
            assert raw is not None
            if x_target is not None:
                raise InputError(
                    "scores",
                    "of messages need a message of every target to itself, which pairs do not have",
                    value=self.scores,
                    way_out="take 'global'",
                )
            return self.attention.of_messages(raw, block)
        return self.attention.of_nodes(x_source, x_target, weight, block, self.target_weight)

    def weights(self, inputs: AggregationInputs, raw: Tensor | None = None) -> Tensor:
        """The attention coefficients, after dropout in training."""
        return dropout(self.alpha(inputs, raw), self.dropout, self.training)

    def __repr__(self) -> str:
        heads, out = self.attention.source.shape
        return f"{type(self).__name__}({out}, heads={heads}, scores={self.scores!r})"


class GatV2(Sum):
    """The attention of GATv2: alpha = softmax(att . leaky_relu(W h_u + W_target h_v)).

    Args:
        out_channels: Size of a message.
        target_width: Size of h_v.
        heads: How many heads.
        bias: Whether W_target h_v has a bias.
        dropout: Rate at which attention coefficients are dropped.
        negative_slope: LeakyReLU's slope below zero.
        rule: Which nodes belong to C_v.
    """

    uses_edge_weights = False

    def __init__(
        self,
        out_channels: int,
        target_width: int,
        heads: int = 1,
        bias: bool = True,
        dropout: float = 0.0,
        negative_slope: float = 0.2,
        rule: BlockRule | None = None,
    ) -> None:
        super().__init__()
        self.rule = rule or BlockRule()
        self.dropout, self.negative_slope = dropout, negative_slope
        self.attention = Parameter(torch.empty(heads, out_channels))
        self.target_weight = new_weight(heads, out_channels, target_width, init="glorot")
        self.target_bias = Parameter(torch.empty(heads, out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize all weights again."""
        glorot(self.attention)
        initialize(self.target_weight, "glorot")
        if self.target_bias is not None:
            torch.nn.init.zeros_(self.target_bias)

    def weights(self, inputs: AggregationInputs, raw: Tensor | None = None) -> Tensor:
        """The attention coefficients, shape (E, H), from the global W."""
        neighbors, heads = inputs.block.neighbors, self.attention.shape
        source = project(inputs.x_source, inputs.weight.flatten(0, 1)).view(-1, *heads)
        target = project_targets(inputs, self.target_weight.flatten(0, 1)).view(-1, *heads)
        if self.target_bias is not None:
            target = target + self.target_bias
        if inputs.message_bias is not None:
            source = source + inputs.message_bias
        pair = leaky_relu(
            gather_sources(source, neighbors) + gather_targets(target, neighbors),
            self.negative_slope,
        )
        alpha = softmax((pair * self.attention).sum(-1), inputs.block)
        return dropout(alpha, self.dropout, self.training)
