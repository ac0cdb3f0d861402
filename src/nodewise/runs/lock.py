"""A folder that one process works in at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from nodewise.errors import RunError


@contextmanager
def holding(path: Path) -> Iterator[None]:
    """Make a folder, and hold it alone.

    Raises:
        RunError: Another process holds it, or it cannot be made or written to.
    """
    lock = FileLock(path / ".lock")
    try:
        path.mkdir(parents=True, exist_ok=True)
        # flock: the lock goes with the process, however that ends.
        lock.acquire(timeout=0)
    except Timeout as error:
        raise RunError(
            str(path),
            "another process is working on this run",
            way_out="wait for it, or choose another folder",
        ) from error
    except OSError as error:
        raise RunError(
            str(path), f"is no folder to write to ({error.strerror})", way_out="choose another one"
        ) from error
    try:
        yield
    finally:
        lock.release()
