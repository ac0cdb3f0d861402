"""t-SNE in another process, one map at a time: clicks are answered meanwhile, Ctrl-C ends it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.experiments.plane import STAGES, stages

Points = NDArray[np.float64]


@dataclass
class _Job:
    """A map that is laid out: its process, and what came of it so far."""

    process: Any
    pipe: Any
    stage: int = 0
    points: Points | None = None
    failed: bool = False

    @property
    def ended(self) -> bool:
        return self.failed or self.stage == STAGES

    def collect(self) -> None:
        """Take what the process has sent."""
        try:
            while not self.ended and self.pipe.poll():
                self.points = self.pipe.recv()
                self.stage += 1
        except (EOFError, OSError):
            self.failed = True


@dataclass(frozen=True)
class TsneProgress:
    """How far a map is.

    Attributes:
        stage: How many of `STAGES` are done.
        failed: Whether the process ended early.
    """

    stage: int
    failed: bool = False

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.failed or self.stage == STAGES


@dataclass(eq=False)
class Background:
    """Lays maps out, each when it is first asked for, one after the other.

    Attributes:
        rows: Gives the rows of a map by its key, and the numbers of those that t-SNE lays out; each
            other row takes the place of the most similar of these.
    """

    rows: Callable[[str], tuple[Points, NDArray[np.int64]]]
    _jobs: dict[str, _Job] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    def progress(self, key: str) -> TsneProgress:
        """How far a map is; begins with it if no other is being laid out."""
        with self._lock:
            for job in self._jobs.values():
                job.collect()
            if key not in self._jobs:
                if not all(job.ended for job in self._jobs.values()):
                    return TsneProgress(0)
                self._jobs[key] = self._begin(key)
            return TsneProgress(self._jobs[key].stage, self._jobs[key].failed)

    def points(self, key: str) -> Points | None:
        """The newest points of a map, a row each; None before the first stage is done."""
        job = self._jobs.get(key)
        return None if job is None else job.points

    def finish(self, key: str, on_stage: Callable[[int], object]) -> bool:
        """Lay a map out and wait for it; returns whether all stages were done.

        Args:
            key: The map.
            on_stage: Called with the number of stages done, whenever it has grown.
        """
        while not (found := self.progress(key)).ended:
            on_stage(found.stage)
            self._jobs[key].pipe.poll(None)
        on_stage(found.stage)
        return not found.failed

    def stage(self, key: str) -> int:
        """How many stages of a map are done."""
        return self._jobs[key].stage if key in self._jobs else 0

    def _begin(self, key: str) -> _Job:
        # Spawned, not forked: other threads of this process may hold locks.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_lay_out, args=(theirs, *self.rows(key)), daemon=True)
        process.start()
        theirs.close()
        return _Job(process, ours)


def _lay_out(pipe: Any, rows: Points, chosen: NDArray[np.int64]) -> None:
    """Send the points of all rows after each stage."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends it
    if hasattr(os, "nice"):
        os.nice(10)  # clicks come first
    for points in staged(rows, chosen):
        pipe.send(points)


def staged(rows: Points, chosen: NDArray[np.int64]) -> Any:
    """The points of all rows after each stage, shape (N, 2).

    Args:
        rows: The rows, shape (N, width).
        chosen: The numbers of those that t-SNE lays out.
    """
    nearest = _nearest(rows, chosen)
    return (points[nearest] for points in stages(rows[chosen]))


def _nearest(rows: Points, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Which of the chosen rows each row is most similar to: itself, if it is one."""
    nearest = np.full(len(rows), -1)
    nearest[chosen] = np.arange(len(chosen))
    others = np.flatnonzero(nearest < 0)
    if len(others):
        from sklearn.neighbors import NearestNeighbors

        search = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(rows[chosen])
        nearest[others] = search.kneighbors(rows[others], return_distance=False)[:, 0]
    return nearest
