"""How long runs will take, estimated from those that are finished."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import Self

from nodewise.errors import RunError
from nodewise.experiments.records import Runs, check_numbers
from nodewise.experiments.runner import Job
from nodewise.experiments.suite import run_key
from nodewise.experiments.table import Key


class Pace:
    """Estimates times from those of similar runs.

    The most similar runs are those of the same data set, model and variant; the next are the
    model's other variants there, then the data set's other models, then all runs.
    """

    def __init__(self) -> None:
        self._seconds: dict[Key, list[float]] = {}

    @classmethod
    def of(cls, runs: Runs) -> Self:
        """The pace of recorded runs; a record without a proper time is left out."""
        pace = cls()
        for line in runs.lines.values():
            try:
                check_numbers(line, line.record, ["seconds"])
            except RunError:
                continue
            pace._add(line.key[:3], line.record["seconds"])
        return pace

    def add(self, job: Job, seconds: float) -> None:
        """Take the time of a finished run into account."""
        self._add(run_key(job)[:3], seconds)

    def seconds(self, jobs: Iterable[Job]) -> float | None:
        """The estimated time of jobs, one after the other; None without any finished run."""
        if not self._seconds:
            return None
        return sum(self._mean(run_key(job)[:3]) for job in jobs)

    def _add(self, cell: Key, seconds: float) -> None:
        for key in _similar(cell):
            self._seconds.setdefault(key, []).append(seconds)

    def _mean(self, cell: Key) -> float:
        return fmean(next(self._seconds[key] for key in _similar(cell) if key in self._seconds))


def _similar(cell: Key) -> tuple[Key, ...]:
    """The keys that a run's time is kept under, the closest first; the last one has all runs."""
    return cell, cell[:2], cell[:1], ()
