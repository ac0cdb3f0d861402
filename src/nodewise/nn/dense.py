"""A linear layer that takes dense or sparse rows."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import Module, Parameter

from nodewise.nn.inits import initialize
from nodewise.nn.lazy import SOURCE, LazyWeight, new_weight, shape_of
from nodewise.ops.dispatch import project
from nodewise.ops.sparse import Features, row_width


class Dense(Module):
    """x W^T + b.

    Args:
        in_channels: Size of each input row, or -1 for that of the first input.
        out_channels: Size of each output row.
        bias: Whether b is added.
    """

    def __init__(self, in_channels: int, out_channels: int, bias: bool = True) -> None:
        super().__init__()
        width = SOURCE if in_channels == -1 else in_channels
        self.weight = new_weight(out_channels, width, init="glorot")
        self.bias = Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize all weights again."""
        initialize(self.weight, "glorot")
        if self.bias is not None:
            initialize(self.bias, "zeros")

    def forward(self, x: Features) -> Tensor:
        """Rows (N, in_channels), dense or sparse -> (N, out_channels)."""
        self._materialize(x)
        out = project(x, self.weight)
        return out if self.bias is None else out.add_(self.bias)

    def plus(self, out: Tensor, x: Features) -> Tensor:
        """`out` + x W^T + b."""
        product: Tensor = self(x)
        return product.add_(out)

    def _materialize(self, x: Features) -> None:
        if isinstance(self.weight, LazyWeight):
            self.weight.materialize_for(row_width(x), 0)

    def __repr__(self) -> str:
        out, width = shape_of(self.weight)
        return f"{type(self).__name__}({width}, {out}, bias={self.bias is not None})"
