"""Principal axes of rows that need not be in memory together."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_OVERSAMPLING = 10
_PASSES = 2


def principal(
    parts: Callable[[], Iterator[Tensor]],
    rows: int,
    width: int,
    *,
    count: int,
    also: Tensor | None = None,
) -> NDArray[np.float64]:
    """Rows on their first principal axes, shape (rows, count); zeros on axes that do not exist.

    By subspace iteration (Halko, Martinsson and Tropp, 2011). Each axis points to the side of its
    largest entry, so that the same rows give the same signs.

    Args:
        parts: Begins a pass over the rows, some at a time, shape (n, width).
        rows: How many rows there are.
        width: How wide they are.
        count: How many axes.
        also: More rows to place on these axes, shape (m, width); they come last in the result, and
            take no part in finding the axes.
    """
    mean: Tensor = sum(part.sum(0) for part in parts()) / rows  # type: ignore[assignment]
    generator = torch.Generator().manual_seed(0)
    rank = min(count + _OVERSAMPLING, rows, width)
    basis = torch.randn(width, rank, generator=generator).to(mean)
    for _ in range(_PASSES):
        product = sum(_squared(part - mean, basis) for part in parts())
        basis = torch.linalg.qr(product)[0]
    sketch = torch.cat([(part - mean) @ basis for part in parts()]).double()
    more = sketch[:0] if also is None else ((also.to(mean) - mean) @ basis).double()
    out = np.zeros((rows + len(more), count))
    found = _rotated(sketch, more)[:, :count].cpu().numpy()
    out[:, : found.shape[1]] = found
    return out


def _squared(rows: Tensor, basis: Tensor) -> Tensor:
    """rows^T rows basis."""
    return rows.T @ (rows @ basis)


def _rotated(rows: Tensor, more: Tensor) -> Tensor:
    """Centered rows on their principal axes, and below them more rows on the same axes."""
    _, _, axes = torch.linalg.svd(rows, full_matrices=False)
    out: Tensor = rows @ axes.T
    largest = out.gather(0, out.abs().argmax(0, keepdim=True))
    return torch.cat([out, more @ axes.T]) * torch.where(largest < 0, -1.0, 1.0)
