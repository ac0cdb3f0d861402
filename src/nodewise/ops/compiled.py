"""Compilation of kernels: without the interpreter's lock, and once per machine.

Only public options of Numba are used. `inlined` functions stand in inner loops; a `device` function
is called once for a target or a panel, and compiles once for all its callers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import time
from typing import Any

from numba import njit

# Every access inside a kernel is compared with its array's size; nothing is cached on disk then.
CHECKED = os.environ.get("NODEWISE_CHECKED", "") not in ("", "0")


def kernel(function: Callable[..., Any]) -> Any:
    """Compile at the first call; cached on disk unless no folder is writable."""
    if CHECKED:
        return njit(nogil=True, boundscheck=True)(function)
    try:
        compiled = njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return njit(nogil=True)(function)
    if compiled.stats.cache_path is not None:
        forget_outdated(Path(compiled.stats.cache_path))
    return compiled


@cache
def forget_outdated(kept: Path) -> None:
    """Remove cached code that is older than the last change of any file here.

    Numba compares the kernel's file only, and not those its device functions come from.
    """
    changed = sources_changed()
    for index in kept.glob("*.nbi"):
        with suppress(OSError):  # another process was faster, or the folder is read-only
            if index.stat().st_mtime < min(changed, time()):
                index.unlink()


@cache
def sources_changed() -> float:
    """The time of the last change of a kernel's source file, in seconds since 1970."""
    changed = 0.0
    for path in Path(__file__).parent.rglob("*.py"):
        with suppress(OSError):  # an editor's lock, perhaps
            changed = max(changed, path.stat().st_mtime)
    return changed


def device(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call."""
    return njit(boundscheck=CHECKED)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """The same for functions in inner loops, which LLVM inlines."""
    return njit(forceinline=True, boundscheck=CHECKED)(function)
