"""The peak memory of a job, as the kernel reports it for a separate process."""

from __future__ import annotations

import ctypes
import multiprocessing
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from nodewise.errors import RunError

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def extra_peak_mb(make: Callable[..., Callable[[], object]], *args: Any) -> float | None:
    """The peak memory that a job's second call adds to its process, in MB.

    Args:
        make: A module-level function that builds the job; called in a fresh process that computes
            on as many threads as this one.
        *args: Its arguments.

    Returns:
        The high-water mark, reset after the first call, less the resident memory then; None if
        the system does not report it.

    Raises:
        RunError: The process ended early.
    """
    if not _RESET.exists():
        return None
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=_measure, args=(theirs, torch.get_num_threads(), make, args))
    child.start()
    theirs.close()
    try:
        peak = ours.recv()
    except EOFError:
        peak = None
    child.join()
    if peak is None:
        raise RunError(
            "memory",
            "the process that measures it ended early",
            value=child.exitcode,
            way_out="see above for its error; if there is none, it may have been killed for memory",
        )
    return float(peak)


def _measure(
    pipe: Any, threads: int, make: Callable[..., Callable[[], object]], args: tuple[Any, ...]
) -> None:
    torch.set_num_threads(threads)
    job = make(*args)
    job()
    _return_freed_memory()
    before = _kilobytes("VmRSS")
    _RESET.write_text("5")  # resets the high-water mark, see proc(5)
    job()
    pipe.send((_kilobytes("VmHWM") - before) / 1024)


def _return_freed_memory() -> None:
    """Return freed memory to the system, or the second call would seem to need none."""
    with suppress(AttributeError, OSError, TypeError):  # not GNU's C library
        ctypes.CDLL(None).malloc_trim(0)


def _kilobytes(field: str) -> int:
    lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return int(lines[field].split()[0])
