"""Localized messages in plain torch, without ever building W_v: any device, bounded memory.

W_v h_u = W (a_v * h_u) + (b_v . h_u) 1, so an edge needs one product of the input's width. Targets
are taken in chunks of bounded size, and the backward pass computes each chunk again instead of
keeping it.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from nodewise.ops import reference
from nodewise.ops.dropconnect import DropConnect, keep_mask
from nodewise.ops.neighbourhood import Neighbourhood
from nodewise.ops.reference import modulation, weighted
from nodewise.ops.rows import Features, SparseRows, take_rows

# Numbers in the widest tensor of one chunk: 16 million float32 are 64 MB.
CHUNK_NUMBERS = 1 << 24


def _limit(numbers_each: int) -> int:
    """How many edges, or targets, of so many numbers each make a chunk."""
    return max(1, CHUNK_NUMBERS // max(numbers_each, 1))


def _target_chunks(ptr: Tensor, numbers_per_edge: int) -> Iterator[tuple[int, int, slice]]:
    """Cut the targets so that a chunk's edges (and targets) times their width stay bounded.

    The edges of one target that are too many by themselves are cut, too. There is always a chunk,
    so that no gradient is lost where there are no targets.
    """
    limit = _limit(numbers_per_edge)
    ends, first = ptr.tolist(), 0
    if len(ends) == 1:
        yield 0, 0, slice(0, 0)
    for v in range(1, len(ends)):
        last = v + 1 == len(ends)
        if last or ends[v + 1] - ends[first] > limit or v + 1 - first > limit:
            begin, end = ends[first], ends[v]
            for start in range(begin, max(end, begin + 1), limit):
                yield first, v, slice(start, min(start + limit, end))
            first = v


def _chunk(
    x: Features,
    weight: Tensor,
    scale: tuple[Tensor, Tensor],
    shift: tuple[Tensor, Tensor],
    source: Tensor,
    target: Tensor,
    first: int,
    drop: DropConnect | None,
    slope: float,
) -> Tensor:
    """Messages to some targets, numbered from `first`."""
    rows = take_rows(x, source)
    x_j = rows.dense() if isinstance(rows, SparseRows) else rows
    a, b = modulation(*scale, slope), modulation(*shift, slope)
    scaled, shifted = x_j[:, None] * (a + 1)[target], x_j[:, None] * b[target]
    if drop is not None:
        nodes = torch.arange(first, first + a.size(0), device=weight.device)
        mask = keep_mask(drop, nodes, *weight.shape).to(weight.dtype)[target] / (1 - drop.rate)
        z = torch.einsum("ehi,hoi,ehoi->eho", scaled, weight, mask)
        return z + torch.einsum("ehi,ehoi->eho", shifted, mask)
    return torch.einsum("ehi,hoi->eho", scaled, weight) + shifted.sum(-1, keepdim=True)


def messages(
    x: Features,
    weight: Tensor,
    scale: tuple[Tensor, Tensor],
    shift: tuple[Tensor, Tensor],
    hood: Neighbourhood,
    drop: DropConnect | None,
    slope: float,
) -> Tensor:
    """As `reference.messages`, in chunks; `x` may be sparse."""
    heads, out, width = weight.shape
    z: list[Tensor] = []
    numbers = heads * width * (1 if drop is None else out)
    for first, last, edges in _target_chunks(hood.ptr, numbers):
        some = checkpoint(
            _chunk,
            x,
            weight,
            (scale[0][first:last], scale[1]),
            (shift[0][first:last], shift[1]),
            hood.source[edges],
            hood.target[edges] - first,
            first,
            drop,
            slope,
            use_reentrant=False,
            preserve_rng_state=False,
        )
        z.append(some)
    return torch.cat(z)


def squares(
    scale: tuple[Tensor, Tensor], shift: tuple[Tensor, Tensor], slope: float
) -> tuple[Tensor, Tensor]:
    """As `reference.squares`, in chunks of nodes."""
    sums: list[tuple[Tensor, Tensor]] = []
    heads, width, _ = scale[1].shape
    step = _limit(heads * width)
    for start in range(0, max(len(scale[0]), 1), step):
        some = [(code[start : start + step], expand) for code, expand in (scale, shift)]
        found = checkpoint(
            reference.squares, *some, slope, use_reentrant=False, preserve_rng_state=False
        )
        sums.append(found)
    a, b = (torch.stack(parts).sum() for parts in zip(*sums, strict=True))
    return a, b


def sum_neighbours(x: Tensor, weight: Tensor | None, hood: Neighbourhood) -> Tensor:
    """As `reference.sum_neighbours`, in chunks of edges."""
    out = x.new_zeros(hood.num_targets, *x.shape[1:])
    step = _limit(x[:1].numel())
    for start in range(0, max(hood.num_edges, 1), step):
        edges = slice(start, start + step)
        part = checkpoint(
            _weighted_rows,
            x,
            None if weight is None else weight[edges],
            hood.source[edges],
            use_reentrant=False,
            preserve_rng_state=False,
        )
        out = out.index_add(0, hood.target[edges], part)
    return out


def _weighted_rows(x: Tensor, weight: Tensor | None, source: Tensor) -> Tensor:
    return weighted(x[source], weight)
