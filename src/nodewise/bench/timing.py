"""Medians of interleaved repeats, and the peaks of the machine."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from statistics import median

import numpy as np
import torch

from nodewise.bench.peak import copy_peak, fma_peak
from nodewise.ops.fused.threads import run

Job = Callable[[], object]
_QUICK = 0.5  # seconds


def seconds(job: Job) -> float:
    """The time of one call."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def side_by_side(jobs: Mapping[str, Job], repeats: int, budget: float = 60.0) -> dict[str, float]:
    """The median time of each job; they take turns, so that other processes disturb all equally.

    Args:
        jobs: What to time; each is called once beforehand, to be warm.
        repeats: How often each is timed. A job of less than half a second gets an untimed call
            before each, since the job before it has replaced the caches' content.
        budget: Seconds after which a job gets no further turn, once it had two.
    """
    for job in jobs.values():
        job()
    gc.collect()
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            if len(taken[name]) < 2 or sum(taken[name]) < budget:
                if taken[name] and taken[name][-1] < _QUICK:
                    job()
                taken[name].append(seconds(job))
    return {name: median(times) for name, times in taken.items()}


def multiply_adds_per_second() -> float:
    """The machine's peak of float32 multiply-adds, on as many threads as torch uses."""
    threads, count = torch.get_num_threads(), 20_000_000
    out = np.ones((threads, 8), np.float32)
    job = lambda: run(fma_peak, threads, 10**9, count, out)  # noqa: E731
    return threads * 64 * count / min(side_by_side({"": job}, 1)[""] for _ in range(3))


def bytes_per_second() -> float:
    """The machine's memory bandwidth: a copy of an array far larger than its caches."""
    threads = torch.get_num_threads()
    source = np.ones((threads, 1 << 24), np.float32)
    target = np.empty_like(source)
    job = lambda: run(copy_peak, threads, 10**9, source, target)  # noqa: E731
    return 2 * source.nbytes / min(side_by_side({"": job}, 1)[""] for _ in range(3))
