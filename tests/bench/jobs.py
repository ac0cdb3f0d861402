"""Jobs whose memory is known. A process that measures one imports this file: it is a light one."""

from __future__ import annotations

from collections.abc import Callable

import torch


def hungry(megabytes: int) -> Callable[[], object]:
    """One tensor."""
    return lambda: torch.ones(megabytes << 18)


def hungry_in_pieces(megabytes: int) -> Callable[[], object]:
    """Many small ones at once."""
    return lambda: [torch.ones(1 << 14) for _ in range(16 * megabytes)]


def as_many_hundred_megabytes_as_threads() -> Callable[[], object]:
    """A tensor of 100 MB for each thread."""
    return lambda: torch.ones((100 * torch.get_num_threads()) << 18)


def broken() -> Callable[[], object]:
    """A job that cannot be built."""
    raise ValueError("no such graph")
