"""How long runs will take, as those before them did."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

from nodewise.experiments.runner import Job

_Key = tuple[str | None, ...]


class Pace:
    """Learns from finished runs; a run is taken to be like those of its row, or of its data set."""

    def __init__(self) -> None:
        self._taken: dict[_Key, list[float]] = {}

    def learn(self, job: Job, seconds: float) -> None:
        """A run took so long."""
        for key in _keys(job):
            self._taken.setdefault(key, []).append(seconds)

    def seconds(self, jobs: Iterable[Job]) -> float | None:
        """What these will take, one after the other; None before anything is known."""
        if not self._taken:
            return None
        return sum(self._mean(job) for job in jobs)

    def _mean(self, job: Job) -> float:
        return fmean(next(self._taken[key] for key in _keys(job) if key in self._taken))


def _keys(job: Job) -> tuple[_Key, ...]:
    """What a run is like, the closest first; all runs are alike in the end."""
    return (job.dataset, job.model), (job.dataset,), ()
