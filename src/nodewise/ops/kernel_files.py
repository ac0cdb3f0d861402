"""Numba's cached files of a kernel: locked while they change, sealed, compared before they load.

Numba loads what it finds. A truncated file ends in a traceback; machine code with a changed byte
can do anything. And two processes that compile different signatures of one kernel at the same
time choose the same file name, so that the code of one is loaded for the other. So every kernel
has a seal, the SHA-256 of its files, which is written after each compilation and compared before
each load, and a lock that is held in between. Files without their seal are compiled again.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Any

from filelock import FileLock

from nodewise.io import replacing

# Longer than any kernel compiles on a slow machine.
_PATIENCE = 300.0
# The lines that this process has printed, and the reasons why it could not keep a kernel.
_reported: set[str] = set()
_reasons: set[str] = set()


def report(line: str) -> None:
    """Print a line to stderr, once for each process."""
    if line not in _reported:
        _reported.add(line)
        print(f"nodewise: {line}", file=sys.stderr)


def report_not_kept(reason: str, way_out: str = "") -> None:
    """Say that kernels stay in memory, and why; `are_kept` knows it then."""
    _reasons.add(reason)
    report(f"{reason}, so each process compiles its own{way_out}")


def are_kept() -> bool:
    """Whether all kernels that this process compiled are on disk."""
    return not _reasons


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Wait for another process that holds the lock; where no file can be locked, do not."""
    lock = FileLock(path, timeout=_PATIENCE)
    with suppress(OSError, NotImplementedError):
        lock.acquire()
    try:
        yield
    finally:
        with suppress(OSError):  # the folder was deleted meanwhile
            lock.release()


class KernelFiles:
    """The files of Numba for one kernel and this version of Python.

    Args:
        function: The kernel before it was compiled.
        folder: Where Numba keeps its files.
    """

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        code, name = function.__code__, function.__qualname__.replace("<", "").replace(">", "")
        python = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
        self.folder = folder
        self._base = f"{Path(code.co_filename).stem}.{name}-{code.co_firstlineno}.{python}"
        self._seal = folder / f"{self._base}.sha256"

    def locked(self) -> Any:
        """A context in which no other process loads or changes these files."""
        return one_at_a_time(self.folder / f"{self._base}.lock")

    def paths(self) -> list[Path]:
        """The index, if there is one, and the files of machine code."""
        return sorted(self.folder.glob(f"{escape(self._base)}.*nb[ic]"))

    def are_sound(self) -> bool:
        """Whether there is nothing to load, or exactly what was sealed."""
        try:
            paths = self.paths()
            if not any(path.suffix == ".nbi" for path in paths):
                return True
            return self._seal.read_bytes() == _digest(paths)
        except OSError:
            return False

    def seal(self) -> None:
        """Write the seal of the files as they are; without it, they are compiled again."""
        with suppress(OSError), replacing(self._seal) as stream:
            stream.write(_digest(self.paths()))

    def remove(self) -> bool:
        """Remove all files; whether none is left."""
        with suppress(OSError):
            for path in (self._seal, *self.paths()):
                path.unlink(missing_ok=True)
        return not self.paths()


def _digest(paths: list[Path]) -> bytes:
    lines = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths)
    return "".join(lines).encode()
