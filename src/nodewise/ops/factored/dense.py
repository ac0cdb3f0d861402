"""Localized messages of dense rows: targets of similar degree are one batched matrix product.

    Z_v = X_v W_v^T,  W_v = W * a_v + b_v,  a_v = 1 + sigma(m_v),  m_v = expand code_v

X_v are the rows of v's neighbors. With the gradient G_v of Z_v and T_v = G_v^T X_v:

    dW = sum_v T_v * a_v,  da_v = sum of T_v * W over rows,  db_v = sum of T_v over rows,
    dX_v = G_v W_v,  dcode_v = expand^T dm_v,  dexpand = sum_v dm_v code_v^T

The backward pass forms W_v again. What bounds the speed are the products and the gather of X_v.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import leaky_relu

from nodewise.ops.dropconnect import DropConnect, keep_mask
from nodewise.ops.factored.segments import leaky_backward
from nodewise.ops.neighbors import Neighborhood


class _Batch(NamedTuple):
    """Targets of similar degree; the shorter ones are padded with edges that are not valid.

    Attributes:
        target: The targets, shape (T,).
        edge: Their edges, shape (T, D).
        valid: Which of these are edges, shape (T, D).
    """

    target: Tensor
    edge: Tensor
    valid: Tensor


def _batches(
    neighbors: Neighborhood, numbers_per_edge: int, least: int, limit: int
) -> Iterator[_Batch]:
    """Batches of targets such that padded edges, or targets, times their numbers stay bounded.

    Args:
        neighbors: The edges.
        numbers_per_edge: The width of an edge's tensors.
        least: How many edges a target counts for at least.
        limit: The largest number of numbers; the edges of one target are cut to stay below it.
    """
    degree, order = torch.sort(neighbors.degree, stable=True)
    degrees, slots = degree.tolist(), max(1, limit // max(numbers_per_edge, 1))
    begin = sum(d == 0 for d in degrees)
    while begin < len(degrees):
        end, longest = begin + 1, degrees[begin]
        # A fifth more than the shortest: padding costs little, and there are few batches.
        most = max(longest + 4, longest * 6 // 5)
        while (
            end < len(degrees)
            and degrees[end] <= most
            and (end + 1 - begin) * max(degrees[end], least) <= slots
        ):
            longest, end = degrees[end], end + 1
        target = order[begin:end]
        start, stop = neighbors.ptr[target, None], neighbors.ptr[target + 1, None]
        for step in range(0, longest, slots):
            count = min(slots, longest - step)
            edge = start + torch.arange(step, step + count, device=start.device)
            valid = edge < stop
            yield _Batch(target, torch.where(valid, edge, start), valid)
        begin = end


class _Local(NamedTuple):
    """W_v for a batch of targets, and the factors it is computed from.

    Attributes:
        weight: W_v, shape (T, H, out, in).
        scale: a_v, shape (T, H, in).
        before: M c_v before sigma, of a_v and of b_v, shape (T, H, in) each.
        keep: DropConnect's factors, shape (T, H, out, in), if any.
    """

    weight: Tensor
    scale: Tensor
    before: list[Tensor]
    keep: Tensor | None


def _localize(
    target: Tensor, given: tuple[Tensor, ...], drop: DropConnect | None, slope: float
) -> _Local:
    """W_v of these targets."""
    weight, scale_code, scale_expand, shift_code, shift_expand = given
    before = [
        torch.einsum("thk,hik->thi", code[target], expand)
        for code, expand in ((scale_code, scale_expand), (shift_code, shift_expand))
    ]
    scale, shift = leaky_relu(before[0], slope) + 1, leaky_relu(before[1], slope)
    local, keep = torch.addcmul(shift[:, :, None], weight, scale[:, :, None]), None
    if drop is not None:
        keep = keep_mask(drop, target, *weight.shape).to(weight.dtype) / (1 - drop.rate)
        local *= keep
    return _Local(local, scale, before, keep)


class DenseMessages(torch.autograd.Function):
    """Z_v = X_v W_v^T, batch by batch.

    Takes dense rows, the five tensors of `messages`, the edges, DropConnect, the slope, and how
    many numbers a chunk may have.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, *args: Any) -> Tensor:
        """Return the messages, shape (E, H, out)."""
        *given, neighbors, drop, slope, limit = args
        ctx.save_for_backward(x, *given)
        heads, out, width = given[0].shape
        sizes = (width, heads * out, limit)
        ctx.rest = neighbors, sizes, drop, slope
        z = x.new_empty(neighbors.num_edges, heads * out)
        for batch in _batches(neighbors, *sizes):
            local = _localize(batch.target, tuple(given), drop, slope).weight.flatten(1, 2)
            x_j = _rows_of(x, neighbors, batch)
            z[batch.edge[batch.valid]] = torch.bmm(x_j, local.transpose(1, 2))[batch.valid]
        return z.view(-1, heads, out)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        """Return the gradients of the first six inputs."""
        x, *given = ctx.saved_tensors
        neighbors, sizes, drop, slope = ctx.rest
        of_x = torch.zeros_like(x) if ctx.needs_input_grad[0] else None
        grads = [torch.zeros_like(one) for one in given]
        grad = grad.flatten(1)
        for batch in _batches(neighbors, *sizes):
            local = _localize(batch.target, tuple(given), drop, slope)
            g = grad[batch.edge] * batch.valid[..., None]
            if of_x is not None:
                of_j = torch.bmm(g, local.weight.flatten(1, 2)).flatten(0, 1)
                of_x.index_add_(0, neighbors.source[batch.edge.flatten()], of_j)
            if any(ctx.needs_input_grad[1:6]):
                t = torch.bmm(g.transpose(1, 2), _rows_of(x, neighbors, batch)).view_as(
                    local.weight
                )
                _add_gradients(batch.target, local, t, given, grads, slope)
        return of_x, *grads, *[None] * 4


def _rows_of(x: Tensor, neighbors: Neighborhood, batch: _Batch) -> Tensor:
    """X_v for a batch of targets, shape (T, D, in)."""
    source = neighbors.source[batch.edge.flatten()]
    return x.index_select(0, source).view(*batch.edge.shape, -1)


def _add_gradients(
    target: Tensor,
    local: _Local,
    t: Tensor,
    given: list[Tensor],
    grads: list[Tensor],
    slope: float,
) -> None:
    """Add what a batch's T_v give to the gradients of weights, codes and expands."""
    if local.keep is not None:
        t *= local.keep
    of_generated = (t * given[0]).sum(2), t.sum(2)
    grads[0] += t.mul_(local.scale[:, :, None]).sum(0)
    for i, of_each, before in zip((1, 3), of_generated, local.before, strict=True):
        code, expand = given[i][target], given[i + 1]
        dm = leaky_backward(of_each, before, slope)
        grads[i].index_add_(0, target, torch.einsum("thi,hik->thk", dm, expand))
        grads[i + 1] += torch.einsum("thi,thk->hik", dm, code)
