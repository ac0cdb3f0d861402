"""The equations as they are printed: every W_v is built. Slow; kernels are tested against it.

Indices: v target, u source, E edges sorted by target, H heads. Scales and shifts
come as pairs (code, expansion): the narrow rows that their generator computes from each c_v, and
the matrix that makes them wide.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from nodewise.ops.dropconnect import DropConnect, keep_entries, keep_mask
from nodewise.ops.neighbors import Neighborhood
from nodewise.ops.order import weighted


def modulation(code: Tensor, expand: Tensor, slope: float) -> Tensor:
    """sigma(M c_v) of Eq. 6, shape (N, H, in): a shift b_v, or a scale a_v minus 1.

    Args:
        code: The output of M's narrow layer, or c_v itself, shape (N, H, k).
        expand: M's last matrix, shape (H, in, k).
        slope: LeakyReLU's slope below zero.
    """
    return leaky_relu(torch.einsum("vhk,hik->vhi", code, expand), slope)


def localized_weight(weight: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Eq. 4: W_v = W * a_v + b_v, the same for each row of W, shape (N, H, out, in)."""
    return weight[None] * scale[:, :, None, :] + shift[:, :, None, :]


def messages(
    x: Tensor,
    weight: Tensor,
    scale: tuple[Tensor, Tensor],
    shift: tuple[Tensor, Tensor],
    neighbors: Neighborhood,
    drop: DropConnect | None,
    slope: float,
) -> Tensor:
    """z_uv = W_v h_u for every edge, shape (E, H, out).

    Args:
        x: Node features h_u, shape (sources, in).
        weight: W, shape (H, out, in).
        scale: Code and expansion of the scales a_v.
        shift: Code and expansion of the shifts b_v.
        neighbors: The edges.
        drop: DropConnect on the entries of W_v, if any.
        slope: LeakyReLU's slope below zero.
    """
    local = localized_weight(weight, modulation(*scale, slope) + 1, modulation(*shift, slope))
    if drop is not None:
        nodes = torch.arange(neighbors.num_targets, device=x.device)
        mask = keep_mask(drop, nodes, *weight.shape)
        local = local * mask.to(x.dtype) / (1 - drop.rate)
    return torch.einsum("ehoi,ei->eho", local[neighbors.target], x[neighbors.source])


def squares(
    scale: tuple[Tensor, Tensor], shift: tuple[Tensor, Tensor], slope: float
) -> tuple[Tensor, Tensor]:
    """The sums of (a_v - 1)^2 and of b_v^2 that Eq. 11 needs, over all nodes and features."""
    a, b = modulation(*scale, slope), modulation(*shift, slope)
    return a.square().sum(), b.square().sum()


def modulate_edges(
    z: Tensor,
    scale: tuple[Tensor, Tensor],
    shift: tuple[Tensor, Tensor],
    neighbors: Neighborhood,
    slope: float,
    weight: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Eqs. 8 and 9: z * a_uv + b_uv, and the sums of (a_uv - 1)^2 and of b_uv^2.

    N [h_v ; h_u] = N_target h_v + N_source h_u, so an edge's context comes as its two halves.

    Args:
        z: Messages, shape (E, H, out).
        scale: N_a's target half for each target and source half for each source, (N, H, out) each.
        shift: The same of N_b.
        neighbors: The edges.
        slope: LeakyReLU's slope below zero.
        weight: The weight of each edge in the two sums, shape (E,), or None.
    """
    a = leaky_relu(scale[0][neighbors.target] + scale[1][neighbors.source], slope)
    b = leaky_relu(shift[0][neighbors.target] + shift[1][neighbors.source], slope)
    sums = weighted(a.square(), weight).sum(), weighted(b.square(), weight).sum()
    return z * (a + 1) + b, *sums


def sum_edges(messages: Tensor, weight: Tensor | None, neighbors: Neighborhood) -> Tensor:
    """The weighted sum over C_v of a row for each edge, shape (targets, ...).

    The weight is (E,), or (E, H) for messages (E, H, ...), a number for each head.
    """
    messages = weighted(messages, weight)
    out = messages.new_zeros(neighbors.num_targets, *messages.shape[1:])
    return out.index_add(0, neighbors.target, messages)


def sum_neighbors(x: Tensor, weight: Tensor | None, neighbors: Neighborhood) -> Tensor:
    """The weighted sum over C_v of the sources' rows, shape (targets, ...)."""
    return sum_edges(x[neighbors.source], weight, neighbors)


def project(x: Tensor, weight: Tensor) -> Tensor:
    """x weight^T for dense rows, shape (N, out)."""
    return x @ weight.t()


def dropout(x: Tensor, drop: DropConnect) -> Tensor:
    """x without the dropped entries, the others multiplied by 1 / (1 - rate)."""
    keep = keep_entries(drop, x.numel(), x.device).view(x.shape)
    return x * keep / (1 - drop.rate)
