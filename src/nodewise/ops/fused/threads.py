"""Run a compiled kernel over chunks of work on as many threads as torch uses.

Kernels release the interpreter's lock, so plain Python threads serve. Numba's own parallel loops
would cost three times the compilation, and kill a forked data-loading worker that enters one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import torch

# A sleeping thread takes about 0.1 ms to wake, the time of so many multiply-adds.
WORTH_A_THREAD = 2_000_000
_pools: dict[int, ThreadPoolExecutor] = {}
# A forked child inherits the pools but not their threads.
os.register_at_fork(after_in_child=_pools.clear)


def chunks_for(work: int, bytes_each: int = 0) -> int:
    """How many chunks to cut `work` into: by sizes alone, so that no result depends on threads.

    Args:
        work: How many items there are.
        bytes_each: What one chunk's partial results take, if it has any: all chunks together take
            at most 32 MB, and there are fewer of them, since partial results have to be added.
    """
    at_most = min(8, (32 << 20) // bytes_each) if bytes_each else 32
    return max(1, min(at_most, work // 16))


def run(kernel: Callable[..., None], chunks: int, work: int, *args: object) -> None:
    """Call `kernel(first, last, *args)` for ranges of chunks, one range a thread.

    Args:
        kernel: A compiled function that releases the interpreter's lock.
        chunks: Into how many chunks the work is cut.
        work: How many multiply-adds it takes, roughly; little work is not worth waking a thread.
        *args: Further arguments of the kernel.
    """
    threads = min(torch.get_num_threads(), chunks) if work > WORTH_A_THREAD else 1
    bounds = [part * chunks // threads for part in range(threads + 1)]
    ranges = list(pairwise(bounds))
    if threads > 1 and threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads - 1, thread_name_prefix="nodewise")
    others = [_pools[threads].submit(kernel, *ends, *args) for ends in ranges[1:]]
    kernel(*ranges[0], *args)
    for other in others:
        other.result()
