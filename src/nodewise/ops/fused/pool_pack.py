"""Between torch tensors and the kernels that sum sparse rows."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from nodewise.ops.fused import pool
from nodewise.ops.fused.threads import chunks_for, run, threads_for


def _array(tensor: Tensor | None, like: Tensor) -> Any:
    return (like.new_empty(0) if tensor is None else tensor).detach().contiguous().numpy()


def _own(like: Tensor, width: int, threads: int) -> list[Any]:
    """A row of zeros for each thread."""
    return list(torch.zeros(threads, width, dtype=like.dtype).numpy())


def _given(
    rows: tuple[Tensor, Tensor],
    values: Tensor,
    weight: Tensor | None,
    edges: tuple[Tensor, Tensor],
    pooled: tuple[Tensor, Tensor],
) -> tuple[Any, ...]:
    return (
        tuple(part.numpy() for part in rows),
        _array(values, values),
        _array(weight, values),
        *(part.numpy() for part in edges),
        tuple(part.numpy() for part in pooled),
    )


def _work(values: Tensor, rows: tuple[Tensor, Tensor], edges: tuple[Tensor, Tensor]) -> int:
    """Entries visited, taking rows for equally long."""
    return 4 * edges[0].numel() * values.numel() // max(1, rows[0].numel() - 1)


def forward(
    values: Tensor,
    weight: Tensor | None,
    rows: tuple[Tensor, Tensor],
    edges: tuple[Tensor, Tensor],
    pooled: tuple[Tensor, Tensor],
    width: int,
) -> Tensor:
    """The entries of sum_u w_uv h_u for every target, in the places `pooled` (crow, col)."""
    out = values.new_empty(pooled[1].numel())
    chunks, work = chunks_for(edges[1].numel() - 1), _work(values, rows, edges)
    given = _given(rows, values, weight, edges, pooled)
    own = _own(values, width, threads_for(chunks, work))
    run(pool.forward, chunks, work, chunks, *given, out.numpy(), own=own)
    return out


def backward(
    values: Tensor,
    weight: Tensor | None,
    rows: tuple[Tensor, Tensor],
    edges: tuple[Tensor, Tensor],
    pooled: tuple[Tensor, Tensor],
    width: int,
    grad: Tensor,
    *,
    for_values: bool,
    for_weight: bool,
) -> tuple[Tensor, Tensor]:
    """Gradients of the entries and of the edges' weights; empty where not asked for."""
    entries = values.numel() if for_values else 0
    chunks = chunks_for(edges[1].numel() - 1, entries * values.element_size())
    grad_values = values.new_zeros(chunks, entries)
    grad_weight = values.new_empty(edges[0].numel() if for_weight else 0)
    work = _work(values, rows, edges)
    own = _own(values, width, threads_for(chunks, work))
    given = _given(rows, values, weight, edges, pooled)
    found = (_array(grad, grad), grad_values.numpy(), grad_weight.numpy())
    run(pool.backward, chunks, work, chunks, *given, *found, own=own)
    return grad_values.sum(0), grad_weight
