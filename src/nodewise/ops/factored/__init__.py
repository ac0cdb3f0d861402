"""Localized messages in plain torch, on any device, in bounded memory.

W_v is formed for a chunk of targets, applied to all their neighbors and discarded; the backward
pass forms it again. Three forms, by the rows:

- sparse: only the columns of W_v that occur in C_v (`sparse`)
- dense: batched matrix products of targets of similar degree (`dense`)
- dense, few edges: W_v h_u = W (a_v * h_u) + (b_v . h_u) 1, without W_v

Sums over segments are added in order (`segments`). Gradients of features are added by `index_add_`,
whose order is fixed on the CPU, and on a GPU under `torch.use_deterministic_algorithms`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import leaky_relu
from torch.utils.checkpoint import checkpoint

from nodewise.ops import reference
from nodewise.ops.dropconnect import DropConnect
from nodewise.ops.factored.dense import DenseMessages
from nodewise.ops.factored.segments import WeightedSums
from nodewise.ops.factored.sparse import SparseMessages
from nodewise.ops.factored.visits import edge_runs
from nodewise.ops.neighbors import Neighborhood
from nodewise.ops.reference import modulation
from nodewise.ops.sparse import Features, SparseRows

# Numbers in the widest tensor of one chunk: 16 million float32 are 64 MB.
CHUNK_NUMBERS = 1 << 24
# The same on the CPU, where chunks should stay in the cache; those in which W_v is formed are
# larger, because each takes more calls.
_CACHED, _CACHED_LOCAL = 1 << 19, 1 << 20

Pair = tuple[Tensor, Tensor]


def _limit(device: torch.device, cached: int = _CACHED) -> int:
    """The largest size of a chunk's widest tensor."""
    return min(CHUNK_NUMBERS, cached) if device.type == "cpu" else CHUNK_NUMBERS


def _is_traced(x: Tensor) -> bool:
    """Whether tensors have shapes only, so that there is nothing to cut into chunks."""
    return torch.compiler.is_compiling() or x.is_meta


def messages(
    x: Features,
    weight: Tensor,
    scale: Pair,
    shift: Pair,
    neighbors: Neighborhood,
    drop: DropConnect | None,
    slope: float,
) -> Tensor:
    """As `reference.messages`, in chunks; `x` may be sparse."""
    given = (weight, *scale, *shift)
    if isinstance(x, SparseRows) and not (x.is_crowded or _is_traced(weight)):
        limit = _limit(weight.device, _CACHED_LOCAL)
        return _call(SparseMessages, x.values, *given, x, neighbors, drop, slope, limit)
    rows = x.dense() if isinstance(x, SparseRows) else x
    if _is_traced(weight):
        if drop is not None:
            return reference.messages(rows, weight, scale, shift, neighbors, drop, slope)
        return _per_edge(rows, *given, neighbors.source, neighbors.target, slope)
    heads, out, width = weight.shape
    most_edges = _limit(weight.device) // max(heads * width, 1)
    few_edges = (
        neighbors.num_edges <= most_edges or 2 * neighbors.num_edges < out * neighbors.num_targets
    )
    if drop is None and few_edges:
        return _per_edge_chunks(rows, given, neighbors, slope, most_edges)
    limit = _limit(weight.device, _CACHED_LOCAL)
    return _call(DenseMessages, rows, *given, neighbors, drop, slope, limit)


def _call(function: type[torch.autograd.Function], *args: Any) -> Tensor:
    out: Tensor = function.apply(*args)  # type: ignore[no-untyped-call]  # as torch has it
    return out


def _per_edge(
    x: Tensor,
    weight: Tensor,
    scale_code: Tensor,
    scale_expand: Tensor,
    shift_code: Tensor,
    shift_expand: Tensor,
    source: Tensor,
    target: Tensor,
    slope: float,
) -> Tensor:
    """W (a_v * h_u) + (b_v . h_u) 1 for some edges, shape (edges, H, out)."""
    x_j = x[source][:, None]
    a, b = modulation(scale_code, scale_expand, slope), modulation(shift_code, shift_expand, slope)
    scaled, shifted = x_j * (a + 1)[target], x_j * b[target]
    return torch.einsum("ehi,hoi->eho", scaled, weight) + shifted.sum(-1, keepdim=True)


def _per_edge_chunks(
    x: Tensor, given: tuple[Tensor, ...], neighbors: Neighborhood, slope: float, limit: int
) -> Tensor:
    """Messages edge by edge, in chunks of targets that the backward pass computes again."""
    weight, scale_code, scale_expand, shift_code, shift_expand = given
    z = []
    for first, last, edges in edge_runs(neighbors.ptr, None, limit):
        codes = scale_code[first:last], scale_expand, shift_code[first:last], shift_expand
        ends = neighbors.source[edges], neighbors.target[edges] - first
        args = (x, weight, *codes, *ends, slope)
        if edges == slice(0, neighbors.num_edges):
            return _per_edge(*args)
        z.append(checkpoint(_per_edge, *args, use_reentrant=False, preserve_rng_state=False))
    return torch.cat(z)


class _Squares(torch.autograd.Function):
    """The sum of sigma(m)^2 with m = code . expand, over all nodes and features.

    sigma(m)^2 = m g with g = LeakyReLU(m) of the squared slope, and half its derivative is g: the
    gradients cost less here, where m is in the cache, than in a separate pass.
    """

    @staticmethod
    def forward(ctx: Any, code: Tensor, expand: Tensor, slope: float, step: int) -> Tensor:
        """Return the sum, computed for `step` nodes at a time."""
        wants = any(ctx.needs_input_grad[:2])
        table = expand.transpose(1, 2).contiguous()
        of_code, of_table = torch.empty_like(code), torch.zeros_like(table)
        total = code.new_zeros(())
        for h in range(code.size(1)):
            for start in range(0, len(code), step):
                part = code[start : start + step, h]
                m = part @ table[h]
                g = leaky_relu(m, slope * slope)
                total += torch.dot(m.flatten(), g.flatten())
                if wants:
                    # In this order the wide matrix is read row by row.
                    of_code[start : start + step, h] = (table[h] @ g.t()).t()
                    of_table[h].addmm_(part.t(), g)
        ctx.save_for_backward(of_code, of_table)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        """Return the gradients of code and expand."""
        of_code, of_table = ctx.saved_tensors
        return 2 * grad * of_code, 2 * grad * of_table.transpose(1, 2), None, None


def squares(scale: Pair, shift: Pair, slope: float) -> Pair:
    """As `reference.squares`, in chunks of nodes."""
    if _is_traced(scale[0]):
        return reference.squares(scale, shift, slope)
    step = max(1, _limit(scale[1].device) // max(scale[1].size(1), 1))
    return _call(_Squares, *scale, slope, step), _call(_Squares, *shift, slope, step)


def sum_neighbors(x: Tensor, weight: Tensor | None, neighbors: Neighborhood) -> Tensor:
    """As `reference.sum_neighbors`, without storing the rows of edges."""
    if _is_traced(x) or neighbors.num_edges == 0:
        return reference.sum_neighbors(x, weight, neighbors)
    if weight is not None and weight.dim() == 2:
        heads = [sum_neighbors(x[:, h], weight[:, h], neighbors) for h in range(weight.size(1))]
        return torch.stack(heads, 1)
    back = neighbors.reverse
    places = (neighbors.source, neighbors.ptr, back.source, back.edge_id, back.ptr)
    rows = x.reshape(len(x), -1)
    sums = _call(WeightedSums, rows, weight, *places, _limit(x.device))
    return sums.view(-1, *x.shape[1:])


def project(x: SparseRows, weight: Tensor) -> Tensor:
    """As `reference.project`, of the stored entries."""
    if x.is_crowded or _is_traced(weight):
        return reference.project(x.dense(), weight)
    back = x.columns
    places = (x.col, x.crow, back.row, back.entry, back.ccol)
    rows = weight.t().contiguous()
    return _call(WeightedSums, rows, x.values, *places, _limit(x.device))
