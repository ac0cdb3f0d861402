"""The memory of a job, as the kernel reports it for a separate process."""

from __future__ import annotations

import ctypes
import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import torch

from nodewise.errors import RunError

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_BETWEEN_LOOKS = 0.02  # seconds


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
    return float(in_child(_extra_peak, make, args))


def in_child(function: Callable[..., Any], *args: Any) -> Any:
    """The result of a module-level function in a fresh process, on as many threads as this one.

    Raises:
        RunError: The process ended early.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    job = (theirs, torch.get_num_threads(), function, args)
    child = context.Process(target=_call, args=job, daemon=True)  # ends with this process
    child.start()
    theirs.close()
    try:
        returned = [ours.recv()]
        child.join()
    except EOFError:
        returned = []
        child.join()
    finally:
        child.terminate()  # after Ctrl-C here; one that has ended is left alone
    if not returned:
        raise RunError(
            "memory",
            "the process that measures it ended early",
            value=child.exitcode,
            way_out="see above for its error; if there is none, it may have been killed for memory",
        )
    return returned[0]


def _call(pipe: Any, threads: int, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    torch.set_num_threads(threads)
    pipe.send(function(*args))


def _extra_peak(make: Callable[..., Callable[[], object]], args: tuple[Any, ...]) -> float:
    job = make(*args)
    job()
    _return_freed_memory()
    before = _kilobytes("VmRSS")
    _RESET.write_text("5")  # resets the high-water mark, see proc(5)
    job()
    return (_kilobytes("VmHWM") - before) / 1024


class Resident:
    """The memory of this process since `watch_resident` began, in MB; zero if it is not known.

    Attributes:
        peak: The most that was resident, mapped files included.
        anonymous: The most that was resident and belongs to no file; looked up now and then.
    """

    peak = 0.0
    anonymous = 0.0

    def look(self) -> None:
        """Look now."""
        if _STATUS.exists():
            self.peak = max(self.peak, _kilobytes("VmHWM") / 1024)
            self.anonymous = max(self.anonymous, _kilobytes("RssAnon") / 1024)


@contextmanager
def watch_resident() -> Iterator[Resident]:
    """Yield what is resident, looked up by a thread until the block ends."""
    found, done = Resident(), Event()

    def look() -> None:
        while not done.wait(_BETWEEN_LOOKS):
            found.look()

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()
        found.look()


def _return_freed_memory() -> None:
    """Return freed memory to the system, or the second call would seem to need none."""
    with suppress(AttributeError, OSError, TypeError):  # not GNU's C library
        ctypes.CDLL(None).malloc_trim(0)


def _kilobytes(field: str) -> int:
    lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return int(lines[field].split()[0])
