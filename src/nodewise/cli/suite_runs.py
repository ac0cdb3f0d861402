"""Runs of a suite from the command line: trained with a progress bar, or only counted."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nodewise._version import __version__
from nodewise.cli.tables import print_table
from nodewise.errors import NodewiseError
from nodewise.runs.progress import duration, make_progress

if TYPE_CHECKING:
    from nodewise.experiments.pace import Pace
    from nodewise.experiments.runner import Job
    from nodewise.experiments.suite import Suite


@dataclass(frozen=True)
class SuiteOptions:
    """The options of `nodewise reproduce` that all suites share."""

    out: Path
    workers: int | None
    device: str
    root: Path | None
    quiet: bool

    @property
    def cores(self) -> int:
        """How many runs are trained side by side."""
        return self.workers or os.cpu_count() or 1

    def report(self, line: str) -> None:
        """Print a line unless `--quiet` is given."""
        if not self.quiet:
            typer.echo(line)


@dataclass(frozen=True)
class SuiteState:
    """Which jobs have records, and how long the others will take.

    Attributes:
        jobs: All jobs.
        left: Those without a record.
        pace: The times of recorded runs.
        versions: Other versions of nodewise that made records of these jobs.
    """

    jobs: Sequence[Job]
    left: Sequence[Job]
    pace: Pace
    versions: Sequence[str]

    @classmethod
    def of(cls, jobs: Sequence[Job], out: Path) -> SuiteState:
        """Read the tables of a folder; finished runs that they lack are added first.

        Raises:
            RunError: A table is damaged, or has another run in the place of a job.
        """
        from nodewise.experiments.collect import collect
        from nodewise.experiments.pace import Pace
        from nodewise.experiments.records import missing_runs, other_versions, read_runs

        collect(out)
        runs = read_runs(out)
        return cls(jobs, missing_runs(runs, jobs), Pace.of(runs), other_versions(runs, jobs))

    def headline(self, title: str, cores: int) -> str:
        """How many runs are done and left, and how long it will take."""
        done, left = len(self.jobs) - len(self.left), len(self.left)
        return f"{title}: {done} runs done, {left} left{_after_comma(self.time(self.left, cores))}"

    def time(self, waiting: Sequence[Job], cores: int) -> str:
        """The estimated time of some jobs; empty without any finished run."""
        seconds, busy = self.pace.seconds(waiting), min(cores, len(waiting))
        return f"about {duration(seconds / busy)} to go" if seconds else ""


def train_suite(suite: Suite, options: SuiteOptions) -> dict[str, Any]:
    """Train all runs of a suite that have no record; returns how many there are and were."""
    from nodewise.io import writing

    with writing(options.out):
        options.out.mkdir(parents=True, exist_ok=True)
    jobs = suite.jobs(options.out, options.root, options.device)
    return {"runs": len(jobs), "trained": train_jobs(jobs, suite.title, options)}


def plan_suite(suite: Suite, options: SuiteOptions) -> dict[str, Any]:
    """Print a line for every cell of a suite; nothing is trained."""
    state = SuiteState.of(suite.jobs(options.out, options.root, options.device), options.out)
    columns = ("data set", "model", "variant", "done", "left", "time")
    if not options.quiet:
        print_table(columns, _cells(state, options.cores))
    options.report(state.headline(suite.title, options.cores))
    _report_versions(state, options)
    seconds = state.pace.seconds(state.left)
    return {"runs": len(state.jobs), "left": len(state.left), "seconds": seconds}


def _cells(state: SuiteState, cores: int) -> Iterator[tuple[str, ...]]:
    cells: dict[Path, list[Job]] = {}
    for job in state.jobs:
        cells.setdefault(job.folder.parent, []).append(job)
    waiting = {job.folder for job in state.left}
    for folder, jobs in cells.items():
        left = [job for job in jobs if job.folder in waiting]
        seconds = state.pace.seconds(left)
        time = duration(seconds / cores) if seconds else "-"
        counts = str(len(jobs) - len(left)), str(len(left))
        yield str(jobs[0].dataset), jobs[0].model, folder.name, *counts, time


def _report_versions(state: SuiteState, options: SuiteOptions) -> None:
    if state.versions:
        options.report(
            f"some records were begun or made with nodewise {', '.join(state.versions)}; this "
            f"is {__version__}, and the report names all versions"
        )


def train_jobs(jobs: Sequence[Job], title: str, options: SuiteOptions) -> int:
    """Train the jobs without a record; a failed one is reported and does not stop the others.

    Returns:
        How many were trained.
    """
    from nodewise.experiments.collect import run_and_record

    state = SuiteState.of(jobs, options.out)
    left, waiting, cores = state.left, list(state.left), options.cores
    options.report(state.headline(title, cores))
    if left:
        _report_versions(state, options)
    done, failed = 0, 0
    with make_progress(options.quiet, "time", "last", timed=False) as progress:
        soon = state.time(left, cores)
        bar = progress.add_task(
            "runs", total=len(jobs), completed=len(jobs) - len(left), time=soon, last=""
        )
        for job, record in run_and_record(options.out, left, cores):
            waiting = [other for other in waiting if other is not job]
            if isinstance(record, NodewiseError):
                failed += 1
                line = f"{job.dataset}, {job.model}, seed {job.seed}: {record}"
                progress.console.print(line, highlight=False, soft_wrap=True, markup=False)
                continue
            if record["interrupted"]:
                raise KeyboardInterrupt
            done += 1
            state.pace.add(job, record["seconds"])
            soon, last = state.time(waiting, cores), _summary(job, record)
            progress.update(bar, advance=1, time=soon, last=last)
            if not options.quiet and not progress.console.is_terminal:
                typer.echo(f"{done} of {len(left)}{_after_comma(soon)}: {last}", err=True)
    if failed:
        typer.echo(f"nodewise: {failed} failed, see above", err=True)
        raise typer.Exit(1)
    return done


def _after_comma(words: str) -> str:
    return f", {words}" if words else ""


def _summary(job: Job, record: dict[str, Any]) -> str:
    accuracy = 100 * record["test_accuracy"]
    run = f"{job.dataset} {job.model} {job.folder.parent.name} seed {job.seed}"
    return f"{run}: {accuracy:.1f} % in {record['seconds']:.0f} s"
