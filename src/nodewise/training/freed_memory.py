"""Keeps freed memory in the process, since the next training step allocates as much again.

By default the C library returns large tensors to the system when they are freed, and the system
fills each page of the next one with zeros.
"""

from __future__ import annotations

import ctypes

# Of GNU's malloc.h: the number of separately mapped allocations, and the free memory at the end of
# the heap above which it is trimmed.
_MMAP_MAX, _TRIM_THRESHOLD = -4, -1
_ANY = -1


def keep_freed_memory() -> None:
    """Make this process keep the memory that it frees, if its C library has that option.

    Only our commands call this: a library does not change the memory of programs that import it.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another library, or another system
        return
    mallopt(_MMAP_MAX, 0)
    mallopt(_TRIM_THRESHOLD, _ANY)
