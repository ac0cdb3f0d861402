"""Sums of torch in an order that does not depend on the number of threads; weighted rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

# Torch splits a sum of this many numbers or more into one part per thread.
_IN_PARTS = 1 << 15


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread, for operations whose order of sums follows their number."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def total(x: Tensor) -> Tensor:
    """The sum of all numbers, added in the same order on any number of threads."""
    if x.numel() < _IN_PARTS or torch.get_num_threads() == 1 or x.device.type != "cpu":
        return x.sum()
    with one_thread():
        return x.sum()


def weighted(rows: Tensor, weight: Tensor | None) -> Tensor:
    """Every row times its weight, (E,) or (E, H); None is one."""
    if weight is None:
        return rows
    return rows * weight.view(*weight.shape, *[1] * (rows.dim() - weight.dim()))
