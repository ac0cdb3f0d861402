"""Run a compiled kernel over chunks of work on as many threads as torch uses.

Kernels release the interpreter's lock, so any thread may call them; Numba's own parallel loops
would cost three times the compilation, and kill a forked data-loading worker that enters one.

Where torch's threads are those of GNU OpenMP, kernels run on the same threads: after every parallel
operation of torch they spin for some milliseconds, and would compete for the cores with any other
thread. Elsewhere a pool of Python threads serves.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from math import prod
from threading import local
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

# Waking a thread takes about 0.1 ms, the time of this many multiply-adds.
WORTH_A_THREAD = 2_000_000
_pools: dict[int, ThreadPoolExecutor] = {}
_BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_compiled: set[Callable[..., None]] = set()


def _gnu_openmp() -> ctypes.CDLL | None:
    """The library that torch has loaded under this name, if it is there and has what we call."""
    try:
        library = ctypes.CDLL("libgomp.so.1")
        library.GOMP_parallel.argtypes = [_BODY, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
        library.GOMP_parallel.restype = None
        return library if library.omp_get_thread_num and library.omp_get_num_threads else None
    except (OSError, AttributeError):
        return None


_openmp = _gnu_openmp()


def _without_threads() -> None:
    """Let a forked child compute: it inherits pools, but none of their threads.

    GNU OpenMP would wait for them forever, in torch's operations and in ours. So torch gets one
    thread, as in the workers of a `DataLoader`; with more, its own operations still hang.
    """
    global _openmp
    _openmp = None
    _pools.clear()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):  # not on Windows, where no process is forked
    os.register_at_fork(after_in_child=_without_threads)


def _on_all_threads(job: Callable[[int], None], parts: int) -> None:
    """Call job(0) to job(parts - 1), each on a separate thread."""
    if _openmp is None:
        if parts not in _pools:
            _pools[parts] = ThreadPoolExecutor(parts - 1, thread_name_prefix="nodewise")
        others = [_pools[parts].submit(job, part) for part in range(1, parts)]
        job(0)
        for other in others:
            other.result()
        return
    openmp = _openmp
    errors: list[BaseException] = []

    def body(_: object) -> None:
        try:
            # OpenMP may give fewer threads than asked for.
            for part in range(openmp.omp_get_thread_num(), parts, openmp.omp_get_num_threads()):
                job(part)
        except BaseException as error:  # Ctrl-C, too: C code, which has called us, would lose it
            errors.append(error)

    openmp.GOMP_parallel(_BODY(body), None, parts, 0)
    if errors:
        raise errors[0]


def chunks_for(work: int, bytes_each: int = 0, already: int = 1) -> int:
    """How many chunks to cut `work` into: by sizes alone, so that no result depends on threads.

    Args:
        work: How many items there are.
        bytes_each: What one chunk's partial results take, if it has any: all chunks together take
            at most 32 MB, and there are fewer of them, since partial results have to be summed.
        already: Into how many pieces the caller cuts every chunk further.
    """
    at_most = min(-(-8 // already), (32 << 20) // bytes_each) if bytes_each else 32
    return max(1, min(at_most, work // 16))


def threads_for(chunks: int, work: int) -> int:
    """How many threads to use: no more than chunks, and one where two would not be faster."""
    if work <= WORTH_A_THREAD:
        return 1
    import torch  # here, so that kernels can be compiled in a process without it

    return min(torch.get_num_threads(), chunks)


def run(
    kernel: Callable[..., None],
    chunks: int,
    work: int,
    *args: object,
    scratch: Sequence[object] | None = None,
) -> None:
    """Call `kernel(begin, end, part, *args)` for ranges of chunks, one range a thread.

    Args:
        kernel: A compiled function that releases the interpreter's lock.
        chunks: Into how many chunks the work is cut.
        work: How many multiply-adds it takes, roughly.
        *args: Further arguments of the kernel.
        scratch: Buffers for each thread, given to the kernel in place of `part`.
    """
    threads = threads_for(chunks, work)
    parts = range(threads) if scratch is None else scratch
    if kernel not in _compiled:
        kernel(0, 0, parts[0], *args)  # an empty range: loaded or compiled on this thread
        _compiled.add(kernel)
    bounds = [part * chunks // threads for part in range(threads + 1)]
    ranges = list(pairwise(bounds))
    if threads == 1:
        kernel(*ranges[0], parts[0], *args)
    else:
        _on_all_threads(lambda part: kernel(*ranges[part], parts[part], *args), threads)


def aligned(size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Zeros that begin with a cache line: eight lanes that lie in two lines take longer."""
    itemsize = np.dtype(dtype).itemsize
    room = np.zeros(size + 64 // itemsize, dtype)
    first = -room.ctypes.data % 64 // itemsize
    return room[first : first + size]


class _Workspace(local):
    """Memory that one thread reuses in later calls: fresh pages would cost more than the work."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, DTypeLike], NDArray[Any]] = {}
        self.buffers: dict[tuple[object, ...], list[Any]] = {}

    def __call__(self, name: str, dtype: DTypeLike, *shape: int) -> NDArray[Any]:
        """An array of that shape with arbitrary content, valid until the next call."""
        size, kept = prod(shape), self.kept.get((name, dtype))
        if kept is None or kept.size < size:
            kept = self.kept[name, dtype] = aligned(size, dtype)
        return kept[:size].reshape(shape)

    def per_thread(self, key: tuple[object, ...], threads: int, make: Callable[[], Any]) -> Any:
        """The result of `make`, cached by key, once for each thread."""
        if (*key, threads) not in self.buffers:
            self.buffers[*key, threads] = [make() for _ in range(threads)]
        return self.buffers[*key, threads]


workspace = _Workspace()
