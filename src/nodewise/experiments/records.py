"""The records of a folder of results, read from its tables and checked.

There is a table for each suite, `SUITE.jsonl`. A run that several suites share is in that of the
first; see `suites_of_cells`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any

from nodewise._version import __version__
from nodewise.errors import RunError
from nodewise.experiments.run_record import RUN_FIELDS
from nodewise.experiments.runner import ExpectedRecord, Job
from nodewise.experiments.suite import Suite, Variant, job_of, run_key, suites_of_cells
from nodewise.experiments.table import Key, Line, Record, RecordTable
from nodewise.runs.folder import CONFIG, RunFolder
from nodewise.runs.open_run import first_difference
from nodewise.runs.task import RESULTS_VERSION
from nodewise.training.recipe import current_settings

_SCORES = ("val_accuracy", "test_accuracy", "test_micro_f", "test_macro_f")


def run_table(results: Path, dataset: str, model: str, variant: str) -> RecordTable:
    """The table that has the runs of a cell.

    Raises:
        RunError: No suite has such a cell.
    """
    suite = suites_of_cells().get((dataset, model, variant))
    if suite is None:
        raise RunError(
            str(results),
            f"no suite has runs of {model} on {dataset} under {variant}",
            way_out="delete them, or name them as a suite does",
        )
    return _table(results, suite)


def _table(results: Path, suite: str) -> RecordTable:
    return RecordTable(results / f"{suite}.jsonl", RUN_FIELDS)


@dataclass(frozen=True)
class Runs:
    """Lines of the tables of some suites.

    Attributes:
        lines: The lines by data set, model, variant and seed.
        refused: Why other lines were left out.
    """

    lines: Mapping[Key, Line]
    refused: Sequence[RunError] = ()

    @cached_property
    def by_cell(self) -> dict[Key, list[Line]]:
        """The lines of every cell, by seed."""
        cells: dict[Key, list[Line]] = {}
        for key in sorted(self.lines):
            cells.setdefault(key[:3], []).append(self.lines[key])
        return cells


def read_runs(results: Path, suite: Suite | None = None) -> Runs:
    """The runs in the tables that a suite's cells are in; without one, in all tables.

    Raises:
        RunError: A table cannot be read.
    """
    cells = suites_of_cells()
    wanted = cells if suite is None else [(d, m, v.name) for d, m, v in suite.cells()]
    lines: dict[Key, Line] = {}
    refused: list[RunError] = []
    for name in dict.fromkeys(cells[cell] for cell in wanted if cell in cells):
        content = _table(results, name).read()
        for line in content.lines.values():
            belongs = cells.get(line.key[:3])
            if belongs == name:
                lines[line.key] = line
            else:
                where = f"belongs to {belongs}.jsonl" if belongs else "belongs to no suite"
                refused.append(RunError(str(line), where, way_out="move it there, or delete it"))
        refused += content.refused
    return Runs(lines, refused)


def check_numbers(
    place: object, record: Mapping[str, Any], keys: Iterable[str], highest: float = inf
) -> None:
    """Check a record to have these numbers, from zero on.

    Args:
        place: Where the record is, for the error.
        record: The record.
        keys: Names of numbers.
        highest: The largest that each may be.

    Raises:
        RunError: One is missing, is not a number, or beyond the highest.
    """
    for key in keys:
        value = record.get(key)
        if (
            not isinstance(value, int | float)
            or isinstance(value, bool)
            or not 0 <= value <= highest
            or value == inf
        ):
            reason = f"its {key} cannot be right"
            raise RunError(str(place), reason, value=value, way_out=REPAIR)


REPAIR = "delete the line, and run again"


@dataclass(frozen=True)
class CellRuns:
    """The runs of a model on a data set under a variant.

    Attributes:
        lines: Those of the finished runs, by seed.
        refused: Why others were left out.
    """

    lines: Sequence[Line] = ()
    refused: Sequence[RunError] = ()

    @cached_property
    def records(self) -> list[Record]:
        """The records of the finished runs, by seed."""
        return [line.record for line in self.lines]


@dataclass(frozen=True)
class SuiteRuns:
    """All finished runs of a suite.

    Attributes:
        suite: The suite.
        cells: The runs by data set, model and the variant's name.
        damaged: Why other lines of the suite's tables were left out.
    """

    suite: Suite
    cells: Mapping[tuple[str, str, str], CellRuns]
    damaged: Sequence[RunError] = ()

    def cell(self, dataset: str, model: str, variant: str | None = None) -> CellRuns:
        """The runs of a cell, of the suite's first variant unless another is named."""
        name = self.suite.variants[0].name if variant is None else variant
        return self.cells.get((dataset, model, name), CellRuns())

    @property
    def count(self) -> int:
        """How many runs the suite's cells have, of each at most as many as it asks for."""
        runs_on = self.suite.runs_on
        return sum(min(len(cell.lines), runs_on(key[0])) for key, cell in self.cells.items())

    @property
    def wanted(self) -> int:
        """How many runs the suite asks for."""
        return sum(self.suite.runs_on(dataset) for dataset, _, _ in self.cells)

    @property
    def refused(self) -> list[RunError]:
        """Why some runs were left out."""
        of_cells = (error for cell in self.cells.values() for error in cell.refused)
        return [*of_cells, *self.damaged]

    @property
    def notes(self) -> list[str]:
        """Lines on records of several versions, of nodewise or other packages."""
        records = [record for cell in self.cells.values() for record in cell.records]
        return [*mixed_versions(records), *_continued(records)]


def mixed_versions(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """A line for each package of which several versions have made these records."""
    found: dict[str, set[str]] = {}
    for record in records:
        for name, version in record.get("versions", {}).items():
            found.setdefault(name, set()).add(str(version))
    mixed = {name: sorted(versions) for name, versions in found.items() if len(versions) > 1}
    return [
        f"records made with {name} {', '.join(others)} and {last}"
        for name, (*others, last) in mixed.items()
    ]


def _continued(records: Iterable[Record]) -> list[str]:
    """A line for runs that one version has begun and another one ended."""
    ends = [(record.get("begun_with"), _made_with(record)) for record in records]
    count = sum(None not in (begun, ended) and begun != ended for begun, ended in ends)
    runs = "1 run was" if count == 1 else f"{count} runs were"
    return [f"{runs} begun with one version of nodewise and ended with another"] if count else []


def _made_with(record: Mapping[str, Any]) -> str | None:
    version: str | None = record.get("versions", {}).get("nodewise")
    return version


def other_versions(runs: Runs, jobs: Iterable[Job]) -> list[str]:
    """The versions of nodewise, other than this one, with which runs were begun or ended."""
    found: set[Any] = set()
    for job in jobs:
        line = runs.lines.get(run_key(job))
        if line is not None:
            found |= {line.record.get("begun_with"), _made_with(line.record)}
        elif (job.folder / CONFIG).exists():
            found.add(RunFolder(job.folder).config.get("nodewise"))
    return sorted(version for version in found if version not in (None, __version__))


def suite_runs(results: Path, suite: Suite) -> SuiteRuns:
    """Read the records of a suite."""
    runs = read_runs(results, suite)
    cells = {(d, m, v.name): cell_runs(runs, d, m, v) for d, m, v in suite.cells()}
    return SuiteRuns(suite, cells, runs.refused)


def cell_runs(runs: Runs, dataset: str, model: str, variant: Variant) -> CellRuns:
    """The finished runs of a cell, without records that are damaged or of another run."""
    lines = runs.by_cell.get((dataset, model, variant.name), [])
    if not lines:
        return CellRuns()
    kept: list[Line] = []
    refused = []
    jobs = [job_of(line.path.parent, dataset, model, variant, line.key[3]) for line in lines]
    expected = jobs[0].expected_record()
    for line, job in zip(lines, jobs, strict=True):
        try:
            _check_run(line, job, expected)
            _check_like(line, kept[0] if kept else line, variant)
            kept.append(line)
        except RunError as error:
            refused.append(error)
    return CellRuns(kept, refused)


def missing_runs(runs: Runs, jobs: Iterable[Job]) -> list[Job]:
    """The jobs that no table has a record of.

    Raises:
        RunError: A table is damaged, or a line is not of the very run that a job would make.
    """
    if runs.refused:
        raise runs.refused[0]
    missing = []
    expected: dict[Key, ExpectedRecord] = {}
    for job in jobs:
        key = run_key(job)
        line = runs.lines.get(key)
        if line is None:
            missing.append(job)
            continue
        if key[:3] not in expected:
            expected[key[:3]] = job.expected_record()
        _check_run(line, job, expected[key[:3]])
    return missing


def _check_run(line: Line, job: Job, of_job: ExpectedRecord) -> None:
    """Check a line to be the record of a job's run, with numbers that can be right.

    The graph is not loaded: what depends on it, such as its SHA-256, is not checked.

    Raises:
        RunError: It is not.
    """
    record = line.record
    for table in ("graph", "settings", "versions"):
        if not isinstance(record.get(table), dict):
            raise RunError(str(line), f"has no table {table}", way_out=REPAIR)
    of_source = ("split", "split_seed", "validation")
    known = {key: value for key, value in record["graph"].items() if key not in of_source}
    settings = current_settings(record["settings"])
    expected = {
        "results_version": RESULTS_VERSION,
        "recipe": of_job.recipe,
        "graph": {**known, **job.source},
        "settings": of_job.settings if of_job.is_exact else {**settings, **of_job.settings},
        **of_job.fields,
    }
    written = {
        "results_version": record.get("results_version"),
        "recipe": record.get("recipe"),
        "graph": {**record["graph"], "dataset": record["dataset"]},
        "settings": settings,
        **{key: record.get(key) for key in of_job.fields},
    }
    found = first_difference(written, expected)
    if found is not None:
        raise RunError(str(line), f"is of a run with {found}", way_out=REPAIR)
    check_numbers(line, record, ("seconds",))
    check_numbers(line, record, _SCORES, highest=1.0)


def _check_like(line: Line, first: Line, variant: Variant) -> None:
    """Runs of a cell share their graph, and their split unless every seed draws one."""
    ours, firsts = (
        {"graph": one.record["graph"].get("sha256"), "split": one.record.get("split_sha256")}
        for one in (line, first)
    )
    for key in ("graph",) if variant.per_seed else ("graph", "split"):
        if ours[key] != firsts[key]:
            raise RunError(
                str(line),
                f"its {key} is not that of the cell's first run",
                way_out="delete those made on other data, and run again",
            )
