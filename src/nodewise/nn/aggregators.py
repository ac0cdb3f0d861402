"""AGGR of Eq. 8: messages on edges -> representations of nodes. The backbone is an argument.

To localize another GNN, subclass `Aggregator`: say in `rule` what C_v is, and in `forward` how its
messages become one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import Module, Parameter
from torch.nn.functional import dropout, leaky_relu
from torch_geometric.nn.resolver import aggregation_resolver

from nodewise.nn.attention import Attention, softmax
from nodewise.nn.block import Block, BlockRule
from nodewise.nn.inits import glorot
from nodewise.ops.dispatch import (
    gather_sources,
    gather_targets,
    project,
    sum_edges,
)
from nodewise.ops.rows import Features


class Incoming(NamedTuple):
    """What arrives at an aggregator.

    Attributes:
        messages: The messages, localized, shape (E, H, out).
        block: The edges and their fixed weights.
        x_source: h_u of the layer's input.
        x_target: h_v of the layer's input on a bipartite graph; None where targets are sources.
        weight: The global W, shape (H, out, in).
        message_bias: What was added to W_v h_u, shape (H, out), or None.
        edge_mask: An explainer's mask over the edges, shape (E,), or None.
        whole: The messages before dropout, shape (E, H, out): what attention looks at.
    """

    messages: Tensor
    block: Block
    x_source: Features
    x_target: Features | None
    weight: Tensor
    message_bias: Tensor | None
    edge_mask: Tensor | None
    whole: Tensor


class Aggregator(Module):
    """Turns the messages of C_v into one, shape (targets, H, out).

    Attributes:
        rule: What C_v is and how its members weigh.
        is_fixed_sum: Whether it is the sum under the block's coefficients and nothing else. A
            weight that is the same for all of C_v can then act after the sum.
        uses_edge_weights: Whether the weight that an edge was given makes a difference.
    """

    rule: BlockRule
    is_fixed_sum: ClassVar[bool] = False
    uses_edge_weights: ClassVar[bool] = True

    def forward(self, incoming: Incoming) -> Tensor:
        """Aggregate."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Start anew; most aggregators have nothing to learn."""


class WeightedSum(Aggregator):
    """The sum over C_v under fixed weights: GCN, means and sums differ in the rule only.

    Args:
        rule: What C_v is and how its members weigh.
    """

    is_fixed_sum = True

    def __init__(self, rule: BlockRule) -> None:
        super().__init__()
        self.rule = rule

    def forward(self, incoming: Incoming) -> Tensor:
        """sum_u w_uv m_uv."""
        weight, mask = incoming.block.coefficient, incoming.edge_mask
        if mask is not None:
            weight = mask if weight is None else weight * mask
        return sum_edges(incoming.messages, weight, incoming.block.hood)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rule.loops}, {self.rule.normalization})"


class GinSum(WeightedSum):
    """GIN's sum of neighbours and (1 + eps) self.

    Args:
        eps: How much more than a neighbour the node itself weighs.
        train_eps: Whether eps is learned.
        rule: What C_v is; its loops are the node itself.
    """

    is_fixed_sum = False

    def __init__(
        self, eps: float = 0.0, train_eps: bool = False, rule: BlockRule | None = None
    ) -> None:
        super().__init__(rule or BlockRule("extra"))
        self.initial_eps = eps
        self.eps = Parameter(torch.full((1,), eps), requires_grad=train_eps)

    def reset_parameters(self) -> None:
        """Put eps back."""
        self.eps.data.fill_(self.initial_eps)

    def forward(self, incoming: Incoming) -> Tensor:
        """sum_u m_uv + (1 + eps) m_vv."""
        loop = incoming.block.hood.edge_id < 0
        factor = torch.where(loop, 1 + self.eps, torch.ones_like(self.eps))
        messages = incoming.messages * factor.view(-1, 1, 1).to(incoming.messages.dtype)
        return super().forward(incoming._replace(messages=messages))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(eps={self.eps.item():g})"


class Gat(Aggregator):
    """The attention-weighted sum of GAT.

    Args:
        out: Size of a message.
        heads: How many heads.
        scores: What attention sees: "global", W h of both ends, as in GAT; or "messages", the
            localized messages, as in the released LGAT.
        dropout: Rate at which attention coefficients are dropped.
        bias: Whether the two scores have a bias each.
        init: Name of the initializer of the attention vectors.
        slope: LeakyReLU's slope below zero.
        rule: What C_v is.
        target_width: Size of h_v on a bipartite graph, whose targets then have a weight of their
            own; None where W serves both ends.
    """

    uses_edge_weights = False

    def __init__(
        self,
        out: int,
        heads: int = 1,
        scores: Literal["global", "messages"] = "global",
        dropout: float = 0.0,
        bias: bool = False,
        init: str = "glorot",
        slope: float = 0.2,
        rule: BlockRule | None = None,
        target_width: int | None = None,
    ) -> None:
        super().__init__()
        # The centre's score comes from the message of v to itself, so that has to be there.
        self.rule = replace(rule or BlockRule(), keeps_self=scores == "messages")
        self.scores, self.dropout = scores, dropout
        self.attention = Attention(out, heads, bias, init, slope)
        self.target_weight = (
            None if target_width is None else Parameter(torch.empty(heads, out, target_width))
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start the attention vectors anew."""
        self.attention.reset_parameters()
        if self.target_weight is not None:
            glorot(self.target_weight)

    def alpha(self, incoming: Incoming) -> Tensor:
        """The attention coefficients, shape (E, H)."""
        _, block, x_source, x_target, weight, *_ = incoming
        if self.scores == "messages":
            return self.attention.of_messages(incoming.whole, block.hood)
        return self.attention.of_nodes(x_source, x_target, weight, block, self.target_weight)

    def forward(self, incoming: Incoming) -> Tensor:
        """sum_u alpha_uv m_uv, head by head."""
        alpha = dropout(self.alpha(incoming), self.dropout, self.training)
        return _sum_attended(alpha, incoming)

    def __repr__(self) -> str:
        heads, out = self.attention.source.shape
        return f"{type(self).__name__}({out}, heads={heads}, scores={self.scores!r})"


class GatV2(Aggregator):
    """The attention of GATv2: alpha = softmax(att . leaky_relu(W h_u + W_target h_v)).

    Args:
        target_width: Size of h_v.
        out: Size of a message.
        heads: How many heads.
        bias: Whether W_target h_v has a bias.
        dropout: Rate at which attention coefficients are dropped.
        slope: LeakyReLU's slope below zero.
        rule: What C_v is.
    """

    uses_edge_weights = False

    def __init__(
        self,
        target_width: int,
        out: int,
        heads: int = 1,
        bias: bool = True,
        dropout: float = 0.0,
        slope: float = 0.2,
        rule: BlockRule | None = None,
    ) -> None:
        super().__init__()
        self.rule = rule or BlockRule()
        self.dropout, self.slope = dropout, slope
        self.attention = Parameter(torch.empty(heads, out))
        self.target_weight = Parameter(torch.empty(heads, out, target_width))
        self.target_bias = Parameter(torch.empty(heads, out)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start anew."""
        glorot(self.attention)
        glorot(self.target_weight)
        if self.target_bias is not None:
            torch.nn.init.zeros_(self.target_bias)

    def forward(self, incoming: Incoming) -> Tensor:
        """sum_u alpha_uv m_uv, head by head; the scores see the global W."""
        hood, heads = incoming.block.hood, self.attention.shape
        source = project(incoming.x_source, incoming.weight.flatten(0, 1)).view(-1, *heads)
        target = project_targets(incoming, self.target_weight.flatten(0, 1)).view(-1, *heads)
        if self.target_bias is not None:
            target = target + self.target_bias
        if incoming.message_bias is not None:
            source = source + incoming.message_bias
        pair = leaky_relu(gather_sources(source, hood) + gather_targets(target, hood), self.slope)
        alpha = softmax((pair * self.attention).sum(-1), hood)
        return _sum_attended(dropout(alpha, self.dropout, self.training), incoming)


def project_targets(incoming: Incoming, weight: Tensor) -> Tensor:
    """weight h_v for every target, whether or not it is among the sources, shape (targets, out)."""
    if incoming.x_target is None:
        return incoming.block.rows_of_targets(project(incoming.x_source, weight))
    return project(incoming.x_target, weight)


def _sum_attended(alpha: Tensor, incoming: Incoming) -> Tensor:
    """sum_u alpha_uv m_uv with alpha (E, H), under an explainer's mask if there is one."""
    if incoming.edge_mask is not None:
        alpha = alpha * incoming.edge_mask[:, None]
    return sum_edges(incoming.messages * alpha[..., None], None, incoming.block.hood)


class AnyAggregation(Aggregator):
    """Any `torch_geometric.nn.aggr` module: max, softmax, LSTM, ...

    Args:
        aggregation: The module, or its name.
        rule: What C_v is.
    """

    def __init__(self, aggregation: Any, rule: BlockRule | None = None) -> None:
        super().__init__()
        self.rule = rule or BlockRule()
        self.aggregation = aggregation_resolver(aggregation)

    def reset_parameters(self) -> None:
        """Start the module anew."""
        self.aggregation.reset_parameters()

    def forward(self, incoming: Incoming) -> Tensor:
        """The module's aggregation of the weighted messages."""
        messages, block = incoming.messages, incoming.block
        for weight in (block.coefficient, incoming.edge_mask):
            if weight is not None:
                messages = messages * weight.view(-1, 1, 1)
        flat = self.aggregation(
            messages.flatten(1), index=block.hood.target, dim_size=block.hood.num_targets
        )
        return flat.view(-1, *messages.shape[1:])  # type: ignore[no-any-return]


GCN_RULE = BlockRule("set", "symmetric", keeps_loop_weights=True)
# From the size of a message and the number of heads.
AggregatorFactory = Callable[[int, int], Aggregator]


def make_aggregator(
    aggregator: str | Module | AggregatorFactory, out: int, heads: int
) -> Aggregator:
    """An aggregator from its name: gcn, mean, sum, gat, gin, or any PyG aggregation.

    Args:
        aggregator: A name, an `Aggregator`, a function that makes one from (out, heads), or a
            `torch_geometric.nn.aggr` module.
        out: Size of a message.
        heads: How many heads.
    """
    if isinstance(aggregator, Aggregator):
        return aggregator
    if not isinstance(aggregator, str | Module):
        return aggregator(out, heads)
    if aggregator == "gcn":
        return WeightedSum(GCN_RULE)
    if aggregator == "mean":
        return WeightedSum(BlockRule("set", "mean"))
    if aggregator == "sum":
        return WeightedSum(BlockRule("set"))
    if aggregator == "gin":
        return GinSum()
    if aggregator == "gat":
        return Gat(out, heads)
    return AnyAggregation(aggregator)
