"""Between torch tensors and the kernels on edges and sums: flatten heads, run, shape back."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch import Tensor

from nodewise.ops.fused import edges, sums
from nodewise.ops.fused.threads import chunks_for, run, workspace


def _flat(tensor: Tensor | None, like: Tensor | None = None) -> Any:
    if tensor is None:
        assert like is not None
        return like.new_empty(0).numpy()
    return tensor.detach().contiguous().view(-1).numpy()


def _halves(
    z: Tensor, ends: list[Tensor], source: Tensor, ptr: Tensor, slope: float
) -> tuple[Any, ...]:
    """What both kernels on edges take first."""
    flat, halves = _flat(z), tuple(map(_flat, ends))
    return flat, halves, source.numpy(), ptr.numpy(), prod(z.shape[1:]), flat.dtype.type(slope)


def modulate(
    z: Tensor, ends: list[Tensor], source: Tensor, ptr: Tensor, slope: float
) -> tuple[Tensor, Tensor, Tensor]:
    """z * a_uv + b_uv and the sums of (a_uv - 1)^2 and b_uv^2."""
    out = torch.empty_like(z, memory_format=torch.contiguous_format)
    chunks = chunks_for(ptr.numel() - 1)
    squares = torch.zeros(chunks, 2, dtype=torch.float64)
    given = (*_halves(z, ends, source, ptr, slope), _flat(out), squares.numpy())
    run(edges.forward, chunks, 8 * z.numel(), chunks, *given)
    a, b = squares.sum(0).to(z.dtype)
    return out, a.clone(), b.clone()


def modulate_backward(
    z: Tensor,
    ends: list[Tensor],
    source: Tensor,
    ptr: Tensor,
    back_ptr: Tensor,
    back_edge: Tensor,
    slope: float,
    grad_out: Tensor,
    grad_a: Tensor,
    grad_b: Tensor,
) -> list[Tensor]:
    """Gradients of z and of the four halves, in the order of `ends`."""
    grad_z = torch.empty(z.shape, dtype=z.dtype)
    on_scale, on_shift = (workspace(name, z.dtype, *z.shape) for name in ("on scale", "on shift"))
    scale_target, shift_target = (torch.zeros(ends[i].shape, dtype=z.dtype) for i in (0, 2))
    chunks = chunks_for(ptr.numel() - 1)
    grads = (grad_z, on_scale, on_shift, scale_target, shift_target)
    pulls = (_flat(grad_out), torch.stack([grad_a, grad_b]).numpy())
    given = (*_halves(z, ends, source, ptr, slope), *pulls, tuple(map(_flat, grads)))
    run(edges.backward, chunks, 16 * z.numel(), chunks, *given)
    scale_source, shift_source = (
        weighted_sum(on_edges, back_edge, None, back_ptr) for on_edges in (on_scale, on_shift)
    )
    return [grad_z, scale_target, scale_source, shift_target, shift_source]


def weighted_sum(x: Tensor, index: Tensor, weight: Tensor | None, ptr: Tensor) -> Tensor:
    """out[v] = sum over v's run of weight[e] x[index[e]], shape (runs, ...).

    The weight is (E,), or (E, H) for rows of H heads.
    """
    out = x.new_empty(ptr.numel() - 1, *x.shape[1:])
    chunks, width = chunks_for(ptr.numel() - 1), prod(x.shape[1:])
    run(
        sums.weighted,
        chunks,
        width * index.numel(),
        chunks,
        _flat(x),
        index.numpy(),
        _flat(weight, x),
        ptr.numpy(),
        1 if weight is None else prod(weight.shape[1:]),
        width,
        _flat(out),
    )
    return out


def edge_dots(x: Tensor, g: Tensor, index: Tensor, ptr: Tensor, weight: Tensor) -> Tensor:
    """out[e] = x[index[e]] . g[v] for every edge of v's run, in the shape of the weight."""
    out = torch.empty(weight.shape, dtype=x.dtype)
    chunks, width = chunks_for(ptr.numel() - 1), prod(x.shape[1:])
    run(
        sums.dots,
        chunks,
        width * index.numel(),
        chunks,
        _flat(x),
        _flat(g),
        index.numpy(),
        ptr.numpy(),
        prod(weight.shape[1:]),
        width,
        _flat(out),
    )
    return out
