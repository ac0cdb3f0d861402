"""Sums under fixed weights: GCN, mean, sum, GIN; and a module on what an aggregator returns."""

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
        rule: What C_v is and how its members weigh.
    """

    is_fixed = True

    def __init__(self, rule: BlockRule) -> None:
        super().__init__()
        self.rule = rule

    def weights(self, inputs: AggregationInputs, raw: Tensor | None = None) -> Tensor | None:
        """What the rule says."""
        return inputs.block.coefficient

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rule.loops}, {self.rule.normalization})"


class GinSum(Sum):
    """GIN's sum of neighbors and (1 + eps) self.

    Args:
        eps: How much more than a neighbor the node itself weighs.
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

    def weights(self, inputs: AggregationInputs, raw: Tensor | None = None) -> Tensor:
        """1 + eps for the loops that were added, times what the rule says."""
        coefficient, added = inputs.block.coefficient, inputs.block.neighbors.edge_id < 0
        factor = torch.where(added, 1 + self.eps, torch.ones_like(self.eps))
        factor = factor.to(inputs.weight.dtype)
        return factor if coefficient is None else factor * coefficient

    def __repr__(self) -> str:
        return f"{type(self).__name__}(eps={self.eps.item():g})"


class PostProcess(Aggregator):
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

    def forward(self, messages: Messages, inputs: AggregationInputs) -> Tensor:
        """rest(AGGR(messages) + bias)."""
        out = self.aggregator(messages, inputs).squeeze(1)
        out = self.rest(out if self.bias is None else out + self.bias)
        return out[:, None]  # type: ignore[no-any-return]
