"""Weighted sums of gathered rows over segments, in plain torch.

    out[i] = sum of weight[e] rows[index[e]] over the e from ptr[i] to ptr[i + 1]

An `embedding_bag` reads the gathered rows without storing them, one segment after another on every
device: nothing of edges x width numbers is kept, and the order of each sum is fixed.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding_bag


def segment_sums(rows: Tensor, index: Tensor, ptr: Tensor, weight: Tensor | None = None) -> Tensor:
    """The sums, shape (segments, columns of `rows`); not differentiable."""
    return embedding_bag(
        index,
        rows,
        ptr.to(index.dtype),
        mode="sum",
        per_sample_weights=weight,
        include_last_offset=True,
    )


def row_dots(a: Tensor, b: Tensor, size: int) -> Tensor:
    """a * b with each run of `size` columns added up; `a` is overwritten."""
    sums = a.mul_(b).view(-1, size) @ a.new_ones(size)
    return sums.view(len(a), a.size(1) // size)


def leaky_backward(grad: Tensor, before: Tensor, slope: float) -> Tensor:
    """The gradient of LeakyReLU's input from that of its output."""
    return torch.where(before > 0, grad, slope * grad)


class WeightedSums(torch.autograd.Function):
    """The sums, with gradients of rows and weights.

    Takes rows, weights or None, `index`, `ptr`, the same edges sorted by `index`: their segments
    and places, `ptr` of these; and how many numbers a chunk may have.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor | None, *rest: Any) -> Tensor:
        """Return the sums."""
        *places, ctx.limit = rest
        ctx.save_for_backward(rows, weight, *places)
        return segment_sums(rows, places[0], places[1], weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        """Return the gradients of rows and weights."""
        rows, weight, index, ptr, back_index, back_edge, back_ptr = ctx.saved_tensors
        of_rows = of_weight = None
        if ctx.needs_input_grad[0]:
            back_weight = None if weight is None else weight.index_select(0, back_edge)
            of_rows = segment_sums(grad.contiguous(), back_index, back_ptr, back_weight)
        if ctx.needs_input_grad[1]:
            of_weight = _edge_dots(grad, rows, index, ptr, ctx.limit)
        return of_rows, of_weight, *[None] * 6


def _edge_dots(grad: Tensor, rows: Tensor, index: Tensor, ptr: Tensor, limit: int) -> Tensor:
    """grad[i] . rows[index[e]] for each edge e of segment i, in chunks of edges."""
    segment = torch.repeat_interleave(ptr.diff().long())
    width = rows.size(1)
    step, out = max(1, limit // max(width, 1)), rows.new_empty(index.numel())
    for start in range(0, index.numel(), step):
        edges = slice(start, start + step)
        ends = grad.index_select(0, segment[edges]), rows.index_select(0, index[edges])
        out[edges] = row_dots(*ends, width)[:, 0]
    return out
