"""How kernels are compiled: without the interpreter's lock, and once for a machine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import time
from typing import Any

from numba import njit

from nodewise.ops.compiling import watch
from nodewise.ops.parts import PartCompiler

watch()

# No counting of references to arrays: it is atomic, takes longer than most of what is done between
# two counts, and keeps the cores waiting for each other. Kernels allocate nothing: nobody needs it.
# Nobody calls from C either.
_COMPILE: dict[str, Any] = {"_nrt": False, "no_cfunc_wrapper": True}
_PART: dict[str, Any] = {"no_cpython_wrapper": True, "pipeline_class": PartCompiler, **_COMPILE}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile when first called; kept on disk unless there is no place where we may write."""
    try:
        compiled = njit(nogil=True, cache=True, **_COMPILE)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return njit(nogil=True, **_COMPILE)(function)
    forget_outdated(Path(compiled.stats.cache_path))
    return compiled


@cache
def forget_outdated(kept: Path) -> None:
    """Remove what was compiled before the last change of any file here.

    Numba looks at the kernel's own file only, and not at those its parts come from.
    """
    changed = 0.0
    for path in Path(__file__).parent.rglob("*.py"):
        with suppress(OSError):  # an editor's lock, perhaps
            changed = max(changed, path.stat().st_mtime)
    for index in kept.glob("*.nbi"):
        with suppress(OSError):  # another process was faster, or nobody may
            if index.stat().st_mtime < min(changed, time()):
                index.unlink()


def part(function: Callable[..., Any]) -> Any:
    """Compile what only kernels call: neither machine code, nor what Python needs to call it."""
    return njit(**_PART)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """The same for what stands in inner loops: written there, and not called.

    To a compiled function every array is seven arguments, and a tuple of arrays a hundred. What is
    called once for a target or a panel had better be a `part`: written everywhere, it takes longer
    to compile.
    """
    return njit(forceinline=True, **_PART)(function)
