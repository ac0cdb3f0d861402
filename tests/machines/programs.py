"""Commands of nodewise as processes on a machine that lacks something."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

TRAIN = ("train", "toy", "--model", "LGCN", "--recipe", "nodewise", "--set", "epochs=5")


@dataclass(frozen=True)
class Ended:
    """A process that has ended."""

    code: int
    out: str
    err: str

    def says_why(self) -> bool:
        """Whether it was refused in one line, and without a traceback."""
        lines = (line for line in self.err.splitlines() if line.startswith("nodewise: "))
        said = [line for line in lines if "compiling CPU kernels" not in line]
        return self.code == 2 and len(said) == 1 and "Traceback" not in self.err

    def worked(self) -> bool:
        """Whether it did what it was asked to."""
        return self.code == 0 and "Traceback" not in self.err


def nodewise(
    *arguments: str,
    cwd: Path,
    before: Sequence[str] = (),
    limit: Callable[[], None] | None = None,
    **environment: str,
) -> Ended:
    """Run a command without a terminal.

    Args:
        *arguments: The command and its options.
        cwd: Where.
        before: A program that starts it, with its arguments.
        limit: Called in the process before the command begins.
        **environment: Variables besides those of this process.
    """
    ended = subprocess.run(
        [*before, sys.executable, "-m", "nodewise", *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="backslashreplace",
        check=False,
        timeout=600,
        start_new_session=True,
        preexec_fn=limit,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def without_privileges() -> list[str]:
    """A program that starts another one, which then obeys the permissions of files as users do."""
    if os.getuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and setpriv is not here")
    return ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"]


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """A file system of its own that is soon full."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system cannot be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
