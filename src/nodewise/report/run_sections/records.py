"""The records of some runs of one model on one graph, and what they say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from nodewise.experiments.auto.choice import read_choice
from nodewise.runs.controls import read_controls
from nodewise.runs.folder import RunFolder
from nodewise.runs.seeds import summarize
from nodewise.training.metrics import record_score
from nodewise.training.recipe import default_settings

PARTS = {"test": "test", "val": "validation"}


@dataclass(frozen=True)
class RunRecords:
    """The files of a finished run: configuration, result, history, diagnostics."""

    config: Mapping[str, Any]
    result: Mapping[str, Any]
    history: Sequence[Mapping[str, Any]]
    diagnostics: Mapping[str, Any] | None

    @classmethod
    def of(cls, folder: Path) -> RunRecords:
        """Read a run's folder."""
        run = RunFolder(folder)
        return cls(run.config, run.result or {}, run.history, run.diagnostics)


@dataclass(frozen=True)
class RunGroup:
    """Some runs that differ in their seed alone.

    Attributes:
        runs: The runs, at least one.
        controls: What `controls.json` has; None without such a file.
        choice: What `choice.json` has; None where model and settings were not chosen.
    """

    runs: Sequence[RunRecords]
    controls: Mapping[str, Any] | None = None
    choice: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, folders: Sequence[Path], beside: Path) -> RunGroup:
        """Read the folders of runs, and from the folder of all how their model was chosen."""
        records, controls = [RunRecords.of(one) for one in folders], read_controls(folders[0])
        return cls(records, controls, read_choice(beside))

    @property
    def config(self) -> Mapping[str, Any]:
        """The first run's configuration; others have another seed."""
        return self.runs[0].config

    @property
    def settings(self) -> Mapping[str, Any]:
        """The recipe's settings; a key that an earlier release did not know has its default."""
        return {**default_settings(), **self.config["settings"]}

    @property
    def part(self) -> str:
        """The part of the split that scores are taken on: "test" or "val"."""
        return "test" if "test_accuracy" in self.runs[0].result else "val"

    @property
    def metric(self) -> str:
        """The metric that decided on validation nodes."""
        return str(self.settings.get("metric", "accuracy"))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Means over runs, as `summary.json` has them."""
        return summarize([dict(run.result) for run in self.runs])

    @property
    def scored_by(self) -> str:
        """The same metric, or accuracy where that is undefined on the scored nodes."""
        return self.metric if self.mean(self.metric) is not None else "accuracy"

    @property
    def decision(self) -> str:
        """What that metric decided on validation nodes."""
        return "which epoch was kept" if self.choice is None else "which model was chosen"

    @cached_property
    def best(self) -> RunRecords:
        """The best run by its validation score, which `predict` takes."""
        return max(self.runs, key=lambda run: record_score(run.result))

    @cached_property
    def diagnostics(self) -> list[Mapping[str, Any]]:
        """The diagnostics of runs that have some of scored nodes."""
        found = [run.diagnostics for run in self.runs]
        return [about for about in found if about is not None and "part" in about]

    @cached_property
    def classes(self) -> list[str]:
        """The names of the classes."""
        return list(self.config["graph"]["classes"])

    @cached_property
    def confusion(self) -> list[list[int]]:
        """Counts of true classes (rows) and predicted ones, summed over runs; empty without any."""
        tables = [about["confusion"] for about in self.diagnostics]
        return [
            [sum(cells) for cells in zip(*rows, strict=True)] for rows in zip(*tables, strict=True)
        ]

    @property
    def scored_nodes(self) -> int:
        """How many nodes each run is scored on; 0 where it is not known."""
        total = sum(sum(row) for row in self.confusion)
        return total // max(len(self.diagnostics), 1)

    @property
    def summed(self) -> str:
        """How captions say that counts are sums over runs."""
        return f", summed over {len(self.diagnostics)} runs" if len(self.diagnostics) > 1 else ""

    @property
    def which_run(self) -> str:
        """How sentences say that something is of the best run."""
        several = len(self.runs) > 1
        return (
            f" Shown is seed {self.best.result['seed']}, the best by validation." if several else ""
        )

    def mean(self, metric: str) -> float | None:
        """The mean over runs of a metric on the scored part; None where it is undefined."""
        value: float | None = self.summary.get(f"{self.part}_{metric}_mean")
        return value

    def interval(self, metric: str) -> tuple[float, float] | None:
        """The interval of a metric on the scored part: each end is the mean over runs."""
        return _interval(self.summary, f"{self.part}_{metric}")

    def control(self, name: str) -> Mapping[str, Any]:
        """The scores of a control, `majority` or `features_only`; empty without any."""
        found: Mapping[str, Any] = (self.controls or {}).get(name, {})
        return found

    def of_control(self, name: str, metric: str) -> tuple[float, tuple[float, float]] | None:
        """The score of a control on the scored part and its interval, which may have no width."""
        record, key = self.control(name), f"{self.part}_{metric}"
        if key not in record:
            return None
        return record[key], _interval(record, key) or (record[key], record[key])


def _interval(record: Mapping[str, Any], name: str) -> tuple[float, float] | None:
    ends = record.get("intervals", {}).get(name)
    return None if ends is None else (ends[0], ends[1])
