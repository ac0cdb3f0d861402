"""Memory that is freed stays with the process: the next step asks for as much again.

Left alone, the C library returns large tensors to the system when they are freed, and the system
fills every page of the next one with zeros first.
"""

from __future__ import annotations

import ctypes

# Of GNU's malloc.h: how many requests may get pages of their own, and how much room at the end of
# the heap is too much.
_MMAP_MAX, _TRIM_THRESHOLD = -4, -1
_ANY = -1


def keep_freed_memory() -> None:
    """Have this process keep what it frees, where its C library can be told so.

    It is for programs of our own: a library that others import leaves their memory alone.
    """
    try:
        told = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another library, or another system
        return
    told(_MMAP_MAX, 0)
    told(_TRIM_THRESHOLD, _ANY)
