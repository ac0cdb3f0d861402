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
from torch.nn.functional import leaky_relu
from torch_geometric.nn.inits import reset
from torch_geometric.nn.resolver import aggregation_resolver

from nodewise.errors import InputError
from nodewise.nn.attention import Attention, softmax
from nodewise.nn.block import Block, BlockRule
from nodewise.nn.inits import glorot
from nodewise.ops.dispatch import (
    dropout,
    gather_sources,
    gather_targets,
    project,
    sum_edges,
)
from nodewise.ops.rows import Features


class Surroundings(NamedTuple):
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
        heard: The messages, localized, shape (E, H, out).
        whole: The same before dropout: what attention may look at.
    """

    heard: Tensor
    whole: Tensor


class Aggregator(Module):
    """Turns the messages of C_v into one, shape (targets, H, out).

    Attributes:
        rule: What C_v is and how its members weigh.
        uses_edge_weights: Whether the weight that an edge was given makes a difference.
    """

    rule: BlockRule
    uses_edge_weights: ClassVar[bool] = True

    def forward(self, messages: Messages, around: Surroundings) -> Tensor:
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

    def weights(self, around: Surroundings, whole: Tensor | None = None) -> Tensor | None:
        """The weight of every edge, (E,) or (E, H); None where all are one.

        Args:
            around: The edges and the nodes at their ends.
            whole: The messages, for weights that look at them.
        """
        raise NotImplementedError

    def forward(self, messages: Messages, around: Surroundings) -> Tensor:
        """sum_u w_uv m_uv, under an explainer's mask if there is one."""
        weight, mask = self.weights(around, messages.whole), around.edge_mask
        if mask is not None:
            weight = mask if weight is None else weight * mask.view(-1, *[1] * (weight.dim() - 1))
        return sum_edges(messages.heard, weight, around.block.hood)


class WeightedSum(Sum):
    """The sum over C_v under fixed weights: GCN, means and sums differ in the rule only.

    Args:
        rule: What C_v is and how its members weigh.
    """

    is_fixed = True

    def __init__(self, rule: BlockRule) -> None:
        super().__init__()
        self.rule = rule

    def weights(self, around: Surroundings, whole: Tensor | None = None) -> Tensor | None:
        """What the rule says."""
        return around.block.coefficient

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rule.loops}, {self.rule.normalization})"


class GinSum(Sum):
    """GIN's sum of neighbours and (1 + eps) self.

    Args:
        eps: How much more than a neighbour the node itself weighs.
        train_eps: Whether eps is learned.
        rule: What C_v is; its loops are the node itself.
    """

    def __init__(
        self, eps: float = 0.0, train_eps: bool = False, rule: BlockRule | None = None
    ) -> None:
        super().__init__()
        self.rule = rule or BlockRule("extra")
        self.initial_eps = eps
        self.eps = Parameter(torch.full((1,), eps), requires_grad=train_eps)

    def reset_parameters(self) -> None:
        """Put eps back."""
        self.eps.data.fill_(self.initial_eps)

    def weights(self, around: Surroundings, whole: Tensor | None = None) -> Tensor:
        """1 + eps for the loops that were added, times what the rule says."""
        coefficient, added = around.block.coefficient, around.block.hood.edge_id < 0
        factor = torch.where(added, 1 + self.eps, torch.ones_like(self.eps))
        factor = factor.to(around.weight.dtype)
        return factor if coefficient is None else factor * coefficient

    def __repr__(self) -> str:
        return f"{type(self).__name__}(eps={self.eps.item():g})"


class Then(Aggregator):
    """Another aggregator, and a module on what it gives: GIN's MLP, a normalization.

    Args:
        aggregator: The aggregator, of one head.
        rest: The module. W, the conv's own weight, is the first layer of GIN's MLP: this is the
            rest of it, from the activation on.
        bias: Added in between, or None.
    """

    def __init__(self, aggregator: Aggregator, rest: Module, bias: Tensor | None = None) -> None:
        super().__init__()
        self.rule, self.aggregator, self.rest = aggregator.rule, aggregator, rest
        self.bias = None if bias is None else Parameter(bias.detach().clone())

    def reset_parameters(self) -> None:
        """Start all parts anew."""
        self.aggregator.reset_parameters()
        reset(self.rest)
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)

    def forward(self, messages: Messages, around: Surroundings) -> Tensor:
        """rest(AGGR(messages) + bias)."""
        out = self.aggregator(messages, around).squeeze(1)
        out = self.rest(out if self.bias is None else out + self.bias)
        return out[:, None]  # type: ignore[no-any-return]


class Gat(Sum):
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

    @property
    def sees_messages(self) -> bool:  # type: ignore[override]
        """Whether attention looks at the localized messages."""
        return self.scores == "messages"

    def alpha(self, around: Surroundings, whole: Tensor | None) -> Tensor:
        """The attention coefficients, shape (E, H)."""
        block, x_source, x_target, weight, *_ = around
        if self.sees_messages:
            assert whole is not None
            if x_target is not None:
                raise InputError(
                    "scores",
                    "of messages need a message of every target to itself, which pairs do not have",
                    value=self.scores,
                    way_out="take 'global'",
                )
            return self.attention.of_messages(whole, block.hood)
        return self.attention.of_nodes(x_source, x_target, weight, block, self.target_weight)

    def weights(self, around: Surroundings, whole: Tensor | None = None) -> Tensor:
        """The coefficients, some of them dropped in training."""
        return dropout(self.alpha(around, whole), self.dropout, self.training)

    def __repr__(self) -> str:
        heads, out = self.attention.source.shape
        return f"{type(self).__name__}({out}, heads={heads}, scores={self.scores!r})"


class GatV2(Sum):
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

    def weights(self, around: Surroundings, whole: Tensor | None = None) -> Tensor:
        """The attention coefficients, shape (E, H); the scores see the global W."""
        hood, heads = around.block.hood, self.attention.shape
        source = project(around.x_source, around.weight.flatten(0, 1)).view(-1, *heads)
        target = project_targets(around, self.target_weight.flatten(0, 1)).view(-1, *heads)
        if self.target_bias is not None:
            target = target + self.target_bias
        if around.message_bias is not None:
            source = source + around.message_bias
        pair = leaky_relu(gather_sources(source, hood) + gather_targets(target, hood), self.slope)
        alpha = softmax((pair * self.attention).sum(-1), hood)
        return dropout(alpha, self.dropout, self.training)


def project_targets(around: Surroundings, weight: Tensor) -> Tensor:
    """weight h_v for every target, whether or not it is among the sources, shape (targets, out)."""
    if around.x_target is None:
        return around.block.rows_of_targets(project(around.x_source, weight))
    return project(around.x_target, weight)


class AnyAggregation(Aggregator):
    """Any `torch_geometric.nn.aggr` module: max, softmax, LSTM, ...

    One that gives wider rows than it gets (several aggregations side by side, quantiles, ...) needs
    a single head, and `Then(AnyAggregation(...), torch.nn.Linear(wide, out))` around it.

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

    def forward(self, messages: Messages, around: Surroundings) -> Tensor:
        """The module's aggregation of the weighted messages."""
        heard, block = messages.heard, around.block
        for weight in (block.coefficient, around.edge_mask):
            if weight is not None:
                heard = heard * weight.view(-1, 1, 1)
        flat = self.aggregation(
            heard.flatten(1), index=block.hood.target, dim_size=block.hood.num_targets
        )
        heads = heard.size(1)
        if heads > 1 and flat.size(1) != heard.size(1) * heard.size(2):
            raise InputError(
                "aggregator",
                "gives rows of another size than it gets, which cannot be told apart by heads",
                value=type(self.aggregation).__name__,
                way_out="take one head",
            )
        return flat.view(block.hood.num_targets, heads, -1)  # type: ignore[no-any-return]


GCN_RULE = BlockRule("set", "symmetric", keeps_loop_weights=True)
# From the size of a message and the number of heads.
AggregatorFactory = Callable[[int, int], Aggregator]


def make_aggregator(
    aggregator: str | Module | AggregatorFactory,
    out: int,
    heads: int,
    target_width: int | None = None,
) -> Aggregator:
    """An aggregator from its name: gcn, mean, sum, gat, gin, or any PyG aggregation.

    GIN with more than one layer is `Then(GinSum(), rest_of_its_mlp)`.

    Args:
        aggregator: A name, an `Aggregator`, a function that makes one from (out, heads), or a
            `torch_geometric.nn.aggr` module.
        out: Size of a message.
        heads: How many heads.
        target_width: Size of h_v where targets have rows of their own, which attention looks at.
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
        return Gat(out, heads, target_width=target_width)
    return AnyAggregation(aggregator)
