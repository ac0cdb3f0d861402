"""Sparse rows without the entries that dropout left as zeros, in the same order.

Speed is bound by memory: one stream in, one out.
"""

from __future__ import annotations

from nodewise.ops.compiled import kernel


@kernel
def compact(begin, end, part, crow, col, values, kept_crow, kept_col, kept_values):
    """Fill `kept_*`, which have one place more than there are entries; one piece of work."""
    if begin < end:
        at = 0
        kept_crow[0] = 0
        for u in range(crow.size - 1):
            for j in range(crow[u], crow[u + 1]):
                # Without a branch, which would be mispredicted every other time.
                kept_col[at], kept_values[at] = col[j], values[j]
                at += values[j] != 0
            kept_crow[u + 1] = at
