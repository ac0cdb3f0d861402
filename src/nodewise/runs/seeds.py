"""Several runs of one task, one seed each: their folders and their summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from nodewise.io import write_json
from nodewise.runs.run import Callbacks, train_in
from nodewise.runs.task import Task
from nodewise.training.metrics import METRIC_NAMES

SUMMARY = "summary.json"
_AVERAGED = [f"{part}_{name}" for part in ("test", "val") for name in METRIC_NAMES]


def seed_folder(out: Path, seed: int) -> Path:
    """The folder of a seed's run."""
    return out / f"seed-{seed}"


def train_seeds(
    out: Path, task: Task, seeds: Iterable[int], callbacks_of: Callable[[int], Callbacks]
) -> list[dict[str, Any]]:
    """Train one run after the other; a finished one is read and not trained again.

    Args:
        out: The folder of all runs, and of their summary.
        task: The task.
        seeds: A seed for each run.
        callbacks_of: Returns the callbacks of a seed's run.

    Returns:
        The records; if a callback asked to stop, the last one is of an interrupted run.
    """
    records = []
    for seed in seeds:
        record = train_in(seed_folder(out, seed), task, seed, callbacks_of(seed))
        records.append(record)
        if record["interrupted"]:
            return records
    write_json(out / SUMMARY, summarize(records))
    return records


def summarize(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means and sample standard deviations over runs, the sum of their seconds, and the runs.

    An end of an interval is the mean over runs, too: it is about the nodes, not about the seeds.
    """
    summary: dict[str, Any] = {}
    for name in _AVERAGED:
        values = [record[name] for record in records if name in record]
        if values:
            summary[f"{name}_mean"] = fmean(values)
            summary[f"{name}_std"] = stdev(values) if len(values) > 1 else 0.0
    known = [record["intervals"] for record in records if "intervals" in record]
    summary["intervals"] = {
        name: [fmean(ends) for ends in zip(*(one[name] for one in known), strict=True)]
        for name in (known[0] if known else {})
        if all(name in one for one in known)
    }
    summary["seconds"] = sum(record["seconds"] for record in records)
    return {**summary, "runs": list(records)}
