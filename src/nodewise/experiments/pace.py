"""How long runs will take, as those before them did."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Self

from nodewise.experiments.runner import Job
from nodewise.runs.folder import RESULT

_Row = tuple[str | None, ...]


class Pace:
    """Learns from finished runs; a run is taken to be like those of its row, if there are any.

    A row is a data set, a model and a variant; the next best are the model's other variants there,
    then the data set's other models, then all runs.
    """

    def __init__(self) -> None:
        self._taken: dict[_Row, list[float]] = {}

    @classmethod
    def of(cls, results: Path) -> Self:
        """As the runs took that lie in a folder of results; what cannot be read teaches nothing."""
        pace = cls()
        for path in results.glob(f"runs/*/*/*/seed-*/{RESULT}"):
            try:
                record = json.loads(path.read_bytes())
                row = record["dataset"], record["model"], path.parent.parent.name
                pace._learn(row, float(record["seconds"]))
            except (OSError, ValueError, TypeError, KeyError):
                continue
        return pace

    def learn(self, job: Job, seconds: float) -> None:
        """A run took so long."""
        self._learn(_row(job), seconds)

    def seconds(self, jobs: Iterable[Job]) -> float | None:
        """What these will take, one after the other; None before anything is known."""
        if not self._taken:
            return None
        return sum(self._mean(job) for job in jobs)

    def _learn(self, row: _Row, seconds: float) -> None:
        for key in _alike(row):
            self._taken.setdefault(key, []).append(seconds)

    def _mean(self, job: Job) -> float:
        return fmean(next(self._taken[key] for key in _alike(_row(job)) if key in self._taken))


def _row(job: Job) -> _Row:
    return job.dataset, job.model, job.folder.parent.name


def _alike(row: _Row) -> tuple[_Row, ...]:
    """What a run is like, the closest first; all runs are alike in the end."""
    return row, row[:2], row[:1], ()
