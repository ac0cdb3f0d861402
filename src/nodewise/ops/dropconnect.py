"""Dropout without a stored mask: the hash of its position decides about each entry.

Entry (v, head, out, in) of all localized weights (node-wise DropConnect) is kept when a 32-bit hash
of (seed, v, head, in, out) is at least rate * 2**32, entry i of a tensor when one of (seed, i) is.
The mask is a pure function of these numbers: every kernel and thread count draws the same one, and
the fused kernels compute it again in the backward pass instead of storing it. There it also costs
less than torch's generator.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from nodewise.errors import InputError
from nodewise.ops.hashing import (
    HEAD_STRIDE,
    INPUT_STRIDE,
    LANE_STRIDE,
    LAST_SHIFT,
    MIX,
    NODE_STRIDE,
    WORD,
)


class DropConnect(NamedTuple):
    """The dropout rate of every localized weight W_v, or of a tensor, and the seed of this draw.

    Attributes:
        rate: The share of entries set to zero; the others grow by 1 / (1 - rate).
        seed: Another seed, another mask; a number of 31 bits in a tensor, so that drawing one does
            not stop a compiled model.
    """

    rate: float
    seed: Tensor

    @classmethod
    def draw(cls, rate: float, training: bool) -> DropConnect | None:
        """A new mask from torch's random state, or None where nothing is dropped.

        Raises:
            InputError: The rate is negative, or one or more.
        """
        check_rate("dropout", rate)
        return cls(rate, torch.randint(2**31, ())) if training and rate > 0 else None

    @property
    def threshold(self) -> int:
        """The hash below which an entry is dropped."""
        return min(round(self.rate * 2**32), WORD)


def check_rate(name: str, rate: float) -> None:
    """Check a rate of dropout.

    Raises:
        InputError: It is negative, or one or more.
    """
    if not 0 <= rate < 1:
        raise InputError(
            name, "must be at least 0 and below 1", value=rate, way_out="drop a smaller share"
        )


def mix(bits: Tensor) -> Tensor:
    """The 32-bit hash, on int64 tensors that hold 32-bit words."""
    for shift, factor in MIX:
        bits = ((bits ^ (bits >> shift)) * factor) & WORD
    return bits ^ (bits >> LAST_SHIFT)


def keep_mask(drop: DropConnect, nodes: Tensor, heads: int, out: int, width: int) -> Tensor:
    """Which entries of W_v stay: ones and zeros of shape (nodes, heads, out, width), as float64.

    Args:
        drop: The rate and the seed.
        nodes: The numbers of the target nodes, int64.
        heads: How many heads.
        out: Rows of W_v.
        width: Columns of W_v: the input's features.
    """
    device = nodes.device
    head = torch.arange(heads, device=device)
    column = torch.arange(width, device=device)
    row = torch.arange(out, device=device)
    node_bits = mix((nodes * NODE_STRIDE + drop.seed) & WORD)
    head_bits = mix((node_bits[:, None] + head * HEAD_STRIDE) & WORD)
    input_bits = mix((head_bits[..., None] + column * INPUT_STRIDE) & WORD)
    entry_bits = mix((input_bits[:, :, None, :] + row[:, None] * LANE_STRIDE) & WORD)
    return (entry_bits >= drop.threshold).to(torch.float64)


def keep_pairs(drop: DropConnect, nodes: Tensor, columns: Tensor, heads: int, out: int) -> Tensor:
    """As `keep_mask`, for pairs of node and column: booleans of shape (pairs, heads, out).

    Args:
        drop: The rate and the seed.
        nodes: The target node of each pair, int64.
        columns: The column of each pair, int64.
        heads: How many heads.
        out: Rows of W_v.
    """
    head = torch.arange(heads, device=nodes.device)
    row = torch.arange(out, device=nodes.device)
    node_bits = mix((nodes * NODE_STRIDE + drop.seed) & WORD)
    head_bits = mix((node_bits[:, None] + head * HEAD_STRIDE) & WORD)
    input_bits = mix((head_bits + columns[:, None] * INPUT_STRIDE) & WORD)
    return mix((input_bits[..., None] + row * LANE_STRIDE) & WORD) >= drop.threshold


def keep_entries(drop: DropConnect, count: int, device: torch.device) -> Tensor:
    """Which of a tensor's entries stay, in their order: booleans of shape (count,).

    Eight neighbors share a word that is hashed once more for each of them.
    """
    entry = torch.arange(count, device=device)
    eight = torch.div(entry, 8, rounding_mode="floor")
    block_bits = mix((mix(drop.seed) + eight * INPUT_STRIDE) & WORD)
    return mix((block_bits + entry % 8 * LANE_STRIDE) & WORD) >= drop.threshold
