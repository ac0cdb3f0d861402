"""How kernels are compiled: without the interpreter's lock, and once for a machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def kernel(function: Callable[..., Any]) -> Any:
    """Compile when first called; kept on disk unless there is no place where we may write."""
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return njit(nogil=True)(function)


def part(function: Callable[..., Any]) -> Any:
    """Compile what only kernels call: not what Python would need to call it, which takes long."""
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(**options)(function)  # type: ignore[call-overload]  # its stubs lack them
