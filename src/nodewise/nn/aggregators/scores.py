"""Attention coefficients alpha_uv over C_v, from scores of an edge's two ends."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import Module, Parameter
from torch.nn.functional import leaky_relu

from nodewise.nn.block import Block
from nodewise.nn.inits import initializer
from nodewise.ops.dispatch import SLOPE, gather_sources, gather_targets, project, sum_edges
from nodewise.ops.sparse import Features


def softmax(scores: Tensor, block: Block) -> Tensor:
    """Softmax over C_v, shape (E, H) in and out; an edge that was sampled stands for several."""
    neighbors = block.neighbors
    if block.sample is not None:
        scores = scores + block.sample.multiplicity.log().to(scores.dtype)[:, None]
    with torch.no_grad():
        index = neighbors.target[:, None].expand_as(scores)
        lowest = scores.new_full((neighbors.num_targets, scores.size(1)), float("-inf"))
        highest = lowest.scatter_reduce(0, index, scores, "amax")
    weight = (scores - highest[neighbors.target]).exp()
    return weight / gather_targets(sum_edges(weight, None, neighbors), neighbors)


class Attention(Module):
    """GAT's scores: alpha = softmax(leaky_relu(att_source . z_u + att_target . z_v)).

    Args:
        out: Size of a message.
        heads: How many heads.
        bias: Whether each of the two scores has a bias, as in the released LGAT.
        init: Name of the initializer.
        slope: LeakyReLU's slope below zero.
    """

    def __init__(
        self,
        out: int,
        heads: int = 1,
        bias: bool = False,
        init: str = "glorot",
        slope: float = SLOPE,
    ) -> None:
        super().__init__()
        self.init, self.slope = init, slope
        self.source = Parameter(torch.empty(heads, out))
        self.target = Parameter(torch.empty(heads, out))
        self.bias = Parameter(torch.empty(2, heads)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize all weights again."""
        for parameter in self.parameters():
            initializer(self.init)(parameter)

    def forward(self, of_source: Tensor, of_target: Tensor, block: Block) -> Tensor:
        """alpha (E, H) from the scores of both ends, (E, H) each."""
        scores = of_source + of_target
        if self.bias is not None:
            scores = scores + self.bias.sum(0)
        return softmax(leaky_relu(scores, self.slope), block)

    def of_nodes(
        self,
        x: Features,
        x_target: Features | None,
        weight: Tensor,
        block: Block,
        target_weight: Tensor | None = None,
    ) -> Tensor:
        """alpha of GAT, from W h of both ends, W being the global weight."""
        target_weight = weight if target_weight is None else target_weight
        of_source = torch.einsum("ho,hoi->hi", self.source, weight)
        of_target = torch.einsum("ho,hoi->hi", self.target, target_weight)
        target = (
            block.rows_of_targets(project(x, of_target))
            if x_target is None
            else project(x_target, of_target)
        )
        source = gather_sources(project(x, of_source), block.neighbors)
        return self.forward(source, gather_targets(target, block.neighbors), block)

    def of_messages(self, messages: Tensor, block: Block) -> Tensor:
        """alpha from the localized messages; the last edge of a target is its loop."""
        neighbors = block.neighbors
        source = (messages * self.source).sum(-1)
        center = (messages[neighbors.ptr[1:] - 1] * self.target).sum(-1)
        return self.forward(source, gather_targets(center, neighbors), block)
