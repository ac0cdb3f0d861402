"""How kernels are compiled: without the interpreter's lock, and once for a machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

# No counting of references to arrays: it is atomic, takes longer than most of what is done between
# two counts, and keeps the cores waiting for each other. Kernels allocate nothing: nobody needs it.
_COMPILE: dict[str, Any] = {"_nrt": False}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile when first called; kept on disk unless there is no place where we may write."""
    try:
        return njit(nogil=True, cache=True, **_COMPILE)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return njit(nogil=True, **_COMPILE)(function)


def part(function: Callable[..., Any]) -> Any:
    """Compile what only kernels call: not what Python would need to call it, which takes long."""
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_COMPILE}
    return njit(**options)(function)
