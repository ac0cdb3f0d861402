"""The linear layers around a deep stack, and features that spread over some hops before it."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import Module, Parameter

from nodewise.models.receptive_field import ReceptiveField
from nodewise.nn.aggregators.sums import GCN_RULE
from nodewise.nn.block import block_of
from nodewise.nn.dense import Dense
from nodewise.ops.dispatch import sum_neighbors
from nodewise.ops.sparse import Features


class Front(Module):
    """The features in the width of the stack, averaged over the powers of the graph up to `hops`.

    x -> 1 / (K + 1) sum_k A^k (m x W^T) + b, where A is GCN's normalized adjacency matrix and m
    drops whole nodes in training (GRAND, NeurIPS 2020).

    Args:
        in_channels: Size of the features, or -1 for that of the first input.
        width: Width of the stack.
        hops: K; 0 leaves each node its features.
        node_dropout: Rate at which nodes are dropped, where features spread.
    """

    def __init__(self, in_channels: int, width: int, hops: int, node_dropout: float) -> None:
        super().__init__()
        self.linear = Dense(in_channels, width, bias=False)
        self.bias = Parameter(torch.zeros(width))
        self.hops, self.node_dropout = hops, node_dropout

    def reset_parameters(self) -> None:
        """Initialize all weights again."""
        self.linear.reset_parameters()
        torch.nn.init.zeros_(self.bias)

    def forward(
        self, x: Features, graph: Tensor | ReceptiveField, edge_weight: Tensor | None
    ) -> Tensor:
        """Rows (N, in_channels), dense or sparse -> (N, width)."""
        rows: Tensor = self.linear(x)
        if self.hops and not isinstance(graph, ReceptiveField):
            rows = self._spread(rows, graph, edge_weight)
        return rows.add_(self.bias)

    def _spread(self, rows: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        count = rows.size(0)
        if self.training and self.node_dropout > 0:
            kept = torch.rand(count, 1, device=rows.device) >= self.node_dropout
            rows = rows * kept / (1 - self.node_dropout)
        block = block_of(edge_index, edge_weight, count, count, GCN_RULE, rows.dtype)
        total = rows
        for _ in range(self.hops):
            rows = sum_neighbors(rows, block.coefficient, block.neighbors)
            total = total + rows
        return total / (self.hops + 1)


class LinearEnds(Module):
    """The linear layers before and behind a deep stack, and the hops before it.

    Args:
        in_channels: Size of the features, or -1 for that of the first input.
        width: Width of the stack.
        out_channels: How many classes.
        hops: Over how many hops features spread before the first layer.
        node_dropout: Rate at which nodes are dropped before that.
    """

    def __init__(
        self,
        in_channels: int,
        width: int,
        out_channels: int,
        hops: int = 0,
        node_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.hops = hops
        self.front = Front(in_channels, width, hops, node_dropout)
        self.head = Dense(width, out_channels)

    def reset_parameters(self) -> None:
        """Initialize all weights again."""
        self.front.reset_parameters()
        self.head.reset_parameters()
