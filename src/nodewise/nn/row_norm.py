"""LayerNorm whose gradients have the same bits on any number of threads."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import LayerNorm
from torch.nn.functional import layer_norm

from nodewise.ops.order import one_thread


class RowNorm(LayerNorm):
    """torch's LayerNorm; the gradients of its scales and biases are summed on one thread.

    torch sums them into a buffer for each thread, so their bits follow the number of threads.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Rows (N, width), each with mean 0 and variance 1, scaled and shifted."""
        if self._is_summed_in_order(input):
            return super().forward(input)
        out: Tensor = _InOrder.apply(input, self.weight, self.bias, self.eps)  # type: ignore[no-untyped-call]
        return out

    def _is_summed_in_order(self, x: Tensor) -> bool:
        """Whether torch adds up in one order anyway, or computes in another way."""
        return (
            torch.get_num_threads() == 1
            or not torch.is_grad_enabled()
            or x.device.type != "cpu"
            or torch.compiler.is_compiling()
            or torch.is_autocast_enabled("cpu")
        )


class _InOrder(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
        ctx.save_for_backward(x, weight, bias)
        ctx.eps = eps
        return layer_norm(x, weight.shape, weight, bias, eps)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        inputs, twice = ctx.saved_tensors, torch.is_grad_enabled()
        x, weight, bias = inputs
        wanted = [one for one, need in zip(inputs, ctx.needs_input_grad, strict=False) if need]
        with one_thread(), torch.enable_grad():
            out = layer_norm(x, weight.shape, weight, bias, ctx.eps)
            found = iter(torch.autograd.grad(out, wanted, gradients, create_graph=twice))
        return *(next(found) if need else None for need in ctx.needs_input_grad[:3]), None
