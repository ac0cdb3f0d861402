"""Between torch tensors and the kernels that sum sparse rows."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from nodewise.ops.fused import pool
from nodewise.ops.fused.arrays import flat
from nodewise.ops.fused.threads import chunks_for, run, threads_for
from nodewise.ops.inputs import PoolInputs


def _array(tensor: Tensor | None, like: Tensor) -> Any:
    return flat(like.new_empty(0) if tensor is None else tensor)


def _given(inputs: PoolInputs) -> tuple[Any, ...]:
    """The inputs as the kernels take them."""
    values, weight, crow, col, source, ptr, out_crow, out_col, _ = inputs
    return (
        (flat(crow), flat(col)),
        _array(values, values),
        _array(weight, values),
        flat(source),
        flat(ptr),
        (flat(out_crow), flat(out_col)),
    )


def _run(kernel: Any, inputs: PoolInputs, chunks: int, *found: Any) -> None:
    """Run with a row of zeros for each thread; rows are taken for equally long."""
    values = inputs.values
    work = 4 * inputs.source.numel() * values.numel() // max(1, inputs.crow.numel() - 1)
    threads = threads_for(chunks, work)
    own = list(torch.zeros(threads, inputs.width, dtype=values.dtype).numpy())
    run(kernel, chunks, work, chunks, *_given(inputs), *found, own=own)


def forward(inputs: PoolInputs) -> Tensor:
    """The entries of sum_u w_uv h_u for every target."""
    out = inputs.values.new_empty(inputs.out_col.numel())
    _run(pool.forward, inputs, chunks_for(inputs.ptr.numel() - 1), out.numpy())
    return out


def backward(
    inputs: PoolInputs, grad: Tensor, *, for_values: bool, for_weight: bool
) -> tuple[Tensor, Tensor]:
    """Gradients of the entries and of the edges' weights; empty where not asked for."""
    values = inputs.values
    entries = values.numel() if for_values else 0
    chunks = chunks_for(inputs.ptr.numel() - 1, entries * values.element_size())
    grad_values = values.new_zeros(chunks, entries)
    grad_weight = values.new_empty(inputs.source.numel() if for_weight else 0)
    found = (_array(grad, grad), grad_values.numpy(), grad_weight.numpy())
    _run(pool.backward, inputs, chunks, *found)
    return grad_values.sum(0), grad_weight


def without_zeros(crow: Tensor, col: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Offsets, columns and values of sparse rows, of the entries that are not zero."""
    # One more place: whatever comes after the last entry is written there.
    kept = crow.new_empty(len(crow)), col.new_empty(len(col) + 1), values.new_empty(len(col) + 1)
    run(pool.without_zeros, 1, 0, *map(flat, (crow, col, values, *kept)))
    count = int(kept[0][-1])
    return kept[0], kept[1][:count], kept[2][:count]
