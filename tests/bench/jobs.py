"""Jobs whose memory is known. A process that measures one imports this file: it is a light one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from nodewise.bench.memory import watch_resident
from nodewise.bench.memory_limit import join_group


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


def fill_in_group(group: Path, megabytes: int) -> int:
    """Fill so much memory under the limit of a group."""
    join_group(group)
    filled = [torch.ones(1 << 18) for _ in range(megabytes)]
    return len(filled)


def fill_and_watch(megabytes: int) -> tuple[float | None, float]:
    """The peaks, all and anonymous, of a process that fills so much memory for a moment."""
    with watch_resident() as resident:
        filled = torch.ones(megabytes << 18)
        resident.look()
        del filled
    return resident.peak or None, resident.anonymous
