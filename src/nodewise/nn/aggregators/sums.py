"""Sums under fixed weights: GCN, mean, sum, GIN; and a module that follows an aggregator."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import Module, Parameter
from torch_geometric.nn.inits import reset

from nodewise.nn.aggregators.base import AggregationInputs, Aggregator, Messages, Sum
from nodewise.nn.block import BlockRule

GCN_RULE = BlockRule("set", "symmetric", keeps_loop_weights=True)


class WeightedSum(Sum):
    """The sum over C_v under fixed weights: GCN, means and sums differ in the rule only.

    Args:
        rule: Which nodes belong to C_v, and their weights.
    """

    is_fixed = True

    def __init__(self, rule: BlockRule) -> None:
        super().__init__()
        self.rule = rule

    def weights(self, inputs: AggregationInputs, raw: Tensor | None = None) -> Tensor | None:
        """The coefficients of the block."""
        return inputs.block.coefficient

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rule.loops}, {self.rule.normalization})"


class GinSum(Sum):
    """GIN's sum of neighbors and (1 + eps) self.

    Args:
        eps: The weight of the node itself is 1 + eps, that of a neighbor 1.
        train_eps: Whether eps is learned.
        rule: Which nodes belong to C_v; its loops are the node itself.
    """

    def __init__(
        self, eps: float = 0.0, train_eps: bool = False, rule: BlockRule | None = None
    ) -> None:
        super().__init__()
        self.rule = rule or BlockRule("extra")
        self.initial_eps = eps
        self.eps = Parameter(torch.full((1,), eps), requires_grad=train_eps)

    def reset_parameters(self) -> None:
        """Reset eps to its initial value."""
        self.eps.data.fill_(self.initial_eps)

    def weights(self, inputs: AggregationInputs, raw: Tensor | None = None) -> Tensor:
        """1 + eps for the loops that the rule added, 1 for others, times the rule's weights."""
        coefficient, added = inputs.block.coefficient, inputs.block.neighbors.edge_id < 0
        factor = torch.where(added, 1 + self.eps, torch.ones_like(self.eps))
        factor = factor.to(inputs.weight.dtype)
        return factor if coefficient is None else factor * coefficient

    def __repr__(self) -> str:
        return f"{type(self).__name__}(eps={self.eps.item():g})"


class PostProcess(Aggregator):
    """Another aggregator, followed by a module: GIN's MLP, a normalization.

    Args:
        aggregator: The aggregator, of one head.
        rest: The module. The conv's W is the first layer of GIN's MLP: this is the rest of it,
            from the activation on.
        bias: Added before the module, or None.
    """

    def __init__(self, aggregator: Aggregator, rest: Module, bias: Tensor | None = None) -> None:
        super().__init__()
        self.rule, self.aggregator, self.rest = aggregator.rule, aggregator, rest
        self.bias = None if bias is None else Parameter(bias.detach().clone())

    def reset_parameters(self) -> None:
        """Initialize all parts again."""
        self.aggregator.reset_parameters()
        reset(self.rest)
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)

    def forward(self, messages: Messages, inputs: AggregationInputs) -> Tensor:
        """rest(AGGR(messages) + bias)."""
        out = self.aggregator(messages, inputs).squeeze(1)
        out = self.rest(out if self.bias is None else out + self.bias)
        return out[:, None]  # type: ignore[no-any-return]
