"""Small inputs of ops, and the outputs and gradients of a kernel on them."""

from __future__ import annotations

import torch
from torch import Tensor

from nodewise.ops import dispatch
from nodewise.ops.dropconnect import DropConnect
from nodewise.ops.neighbors import Neighborhood
from nodewise.ops.sparse import SparseRows
from tests.graphs import MessageCase

FAST = ("factored", "fused")
TOLERANCE = 1e-10


def gradients(case: MessageCase, x: Tensor | SparseRows, kernel: str) -> list[Tensor]:
    """Outputs of `messages` and `squares`, then gradients of all inputs under a fixed pull."""
    values = (x.values if isinstance(x, SparseRows) else x).clone().requires_grad_()
    x = x.with_values(values) if isinstance(x, SparseRows) else values
    leaves = [case.weight, *case.scale, *case.shift]
    leaves = [leaf.clone().requires_grad_() for leaf in leaves]
    with dispatch.use_kernel(kernel):
        weight, scale, shift = leaves[0], (leaves[1], leaves[2]), (leaves[3], leaves[4])
        z = dispatch.messages(x, weight, scale, shift, case.neighbors, case.drop)
        a, b = dispatch.squares(scale, shift)
    pull = torch.linspace(-1, 1, z.numel(), dtype=z.dtype).view_as(z)
    grads = torch.autograd.grad((z * pull).sum() + 0.3 * a + 0.7 * b, [values, *leaves])
    return [z, a, b, *grads]


def a_case(rate: float, *, heads: int = 2) -> MessageCase:
    torch.manual_seed(1)
    edge_index = torch.tensor([[0, 1, 2, 2, 2, 4, 0], [1, 1, 0, 0, 3, 3, 3]])

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64)

    scale, shift = ((normal(5, heads, 3), normal(heads, 4, 3)) for _ in range(2))
    drop = DropConnect(rate, torch.tensor(11)) if rate else None
    neighbors = Neighborhood.from_edges(edge_index, 5)
    return MessageCase(normal(5, 4), normal(heads, 3, 4), scale, shift, neighbors, drop)
