"""`nodewise reproduce`: the paper's tables and figures, run by run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nodewise._version import __version__
from nodewise.cli.options import Device, Json, Quiet, Root, Workers, check_device
from nodewise.cli.progress import duration, make_progress
from nodewise.cli.tables import print_table
from nodewise.errors import InputError, NodewiseError
from nodewise.runs.interrupts import INTERRUPTED, unmasking_interrupts

if TYPE_CHECKING:
    from nodewise.experiments.pace import Pace
    from nodewise.experiments.runner import Job
    from nodewise.experiments.suite import Suite

SuiteName = Annotated[
    str,
    typer.Argument(
        help="main, val100, ablation, matched, neighbors, loose, splits, lambda, decay, cost or "
        "tsne."
    ),
]
Models = Annotated[
    list[str] | None, typer.Option("--models", "-m", help="Only this model; repeatable.")
]
Datasets = Annotated[
    list[str] | None, typer.Option("--datasets", "-d", help="Only this data set; repeatable.")
]
Runs = Annotated[int | None, typer.Option("--runs", min=1, help="Seeds; of cost, timed calls.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="The folder of records.")]
Plan = Annotated[
    bool, typer.Option("--plan", help="Only say what is done, what is left and how long it takes.")
]


def reproduce(
    suite: SuiteName,
    models: Models = None,
    datasets: Datasets = None,
    runs: Runs = None,
    out: Out = Path("results"),
    plan: Plan = False,
    workers: Workers = None,
    device: Device = "cpu",
    root: Root = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a table or figure of the paper, or a comparison of ours; what is finished is skipped.

    Every row gets a run before any gets a second. Ctrl-C saves; the same command goes on. Look at
    the results, finished or not, with `nodewise report`. `cost` measures times and memory on the
    CPU, one model after the other on one thread (or so many --threads): let the machine do nothing
    else meanwhile. `tsne` trains GCN and LGCN where their weights are not there.

    **Examples**

    - `nodewise reproduce main --plan`
    - `nodewise reproduce main --datasets cora --runs 3`
    - `nodewise reproduce matched --models LGCN --models LGCN:global`
    - `nodewise reproduce cost --datasets cora`
    """
    from nodewise.experiments.suite import Suite

    chosen = Suite.load(suite).only(models or [], datasets or [], runs)
    check_device(device)
    ways = {"cost": _measure, "tsne": _lay_out}
    way = ways.get(suite, _plan if plan else _train)
    if plan and way is not _plan:
        raise InputError("--plan", f"{suite} has no rows of runs", way_out="leave it out")
    try:
        with unmasking_interrupts():
            told = way(chosen, Options(out, workers, device, root, quiet))
    except KeyboardInterrupt:
        typer.echo("nodewise: stopped and saved; run the same command to go on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if json:
        from json import dumps

        typer.echo(dumps({"suite": suite, **told, "out": str(out)}))


@dataclass(frozen=True)
class Options:
    """What the ways of filling a folder share."""

    out: Path
    workers: int | None
    device: str
    root: Path | None
    quiet: bool

    @property
    def cores(self) -> int:
        """How many runs are done side by side."""
        return self.workers or os.cpu_count() or 1

    def tell(self, line: str) -> None:
        """Say it, unless nobody wants to hear."""
        if not self.quiet:
            typer.echo(line)


def _train(suite: Suite, options: Options) -> dict[str, Any]:
    from nodewise.io import writing

    with writing(options.out):
        options.out.mkdir(parents=True, exist_ok=True)
    jobs = suite.jobs(options.out, options.root, options.device)
    return {"runs": len(jobs), "trained": _run(jobs, suite.title, options)}


def _plan(suite: Suite, options: Options) -> dict[str, Any]:
    """A line for every row of runs, and nothing trained."""
    jobs = suite.jobs(options.out, options.root, options.device)
    left, pace = _left(jobs, options.out)
    seconds = pace.seconds(left)
    columns = ("data set", "model", "variant", "done", "left", "time")
    if not options.quiet:
        print_table(columns, _rows(jobs, left, pace, options.cores))
    options.tell(_headline(suite.title, jobs, left, _time_left(pace, left, options.cores)))
    _tell_versions(jobs, options)
    return {"runs": len(jobs), "left": len(left), "seconds": seconds}


def _tell_versions(jobs: Sequence[Job], options: Options) -> None:
    """What is there may come from other versions: never mixed without a word."""
    from nodewise.experiments.records import other_versions

    others = other_versions(job.folder for job in jobs)
    if others:
        options.tell(
            f"runs that are there were begun or made with nodewise {', '.join(others)}; "
            f"this is {__version__}, and the report tells"
        )


def _rows(
    jobs: Sequence[Job], left: Sequence[Job], pace: Pace, workers: int
) -> Iterator[tuple[str, ...]]:
    rows: dict[Path, list[Job]] = {}
    for job in jobs:
        rows.setdefault(job.folder.parent, []).append(job)
    waiting = {job.folder for job in left}
    for folder, row in rows.items():
        to_do = [job for job in row if job.folder in waiting]
        seconds = pace.seconds(to_do)
        time = duration(seconds / workers) if seconds else "-"
        counts = str(len(row) - len(to_do)), str(len(to_do))
        yield str(row[0].dataset), row[0].model, folder.name, *counts, time


def _measure(suite: Suite, options: Options) -> dict[str, Any]:
    """Cost, one model after the other."""
    from nodewise.experiments.cost import load_average, measure_cost, read_cost

    cells = list(suite.cells())
    left = [cell for cell in cells if read_cost(options.out, *cell) is None]
    options.tell(f"{suite.title}: {len(cells) - len(left)} measured, {len(left)} left")
    load = load_average() or 0.0
    if left and load > 0.5:
        options.tell(f"the machine is at work (load {load:.1f}): times and ratios will be off")
    for number, cell in enumerate(left, 1):
        record = measure_cost(options.out, cell, suite.runs, options.workers or 1, options.root)
        options.tell(
            f"{number} of {len(left)}: {record['dataset']} {record['model']}: "
            f"{record['mflops']:.0f} million operations, an epoch {record['train_ms']:.1f} ms, "
            f"a test pass {record['test_ms']:.1f} ms"
        )
    return {"records": len(cells), "measured": len(left)}


def _lay_out(suite: Suite, options: Options) -> dict[str, Any]:
    """Points in the plane for every data set that has none."""
    from nodewise.experiments.suite import Suite
    from nodewise.experiments.tsne import job_with_model, make_tsne, read_tsne

    if suite.models != Suite.load(suite.name).models:
        raise InputError("--models", "tsne shows its models together", way_out="leave it out")
    left = [name for name in suite.datasets if read_tsne(options.out, name) is None]
    options.tell(f"{suite.title}: {len(suite.datasets) - len(left)} done, {len(left)} left")
    for name in left:
        jobs = suite.only([], [name], runs=1).jobs(options.out, options.root, options.device)
        _run([job_with_model(job, options.out) for job in jobs], name, options)
        options.tell(f"{name}: laying out {len(jobs) + 1} pictures, about a minute")
        options.tell(f"{name}: {make_tsne(options.out, jobs)}")
    return {"records": len(suite.datasets), "made": len(left)}


def _run(jobs: Sequence[Job], title: str, options: Options) -> int:
    """Train what is not done; a failed run is told and does not stop the others."""
    from nodewise.experiments.runner import run_all

    left, pace = _left(jobs, options.out)
    workers = options.cores
    soon = _time_left(pace, left, workers)
    options.tell(_headline(title, jobs, left, soon))
    if left:
        _tell_versions(jobs, options)
    done, failed, waiting = 0, 0, left
    with make_progress(options.quiet, "time", "last", timed=False) as progress:
        bar = progress.add_task(
            "runs", total=len(jobs), completed=len(jobs) - len(left), time=soon, last=""
        )
        for job, record in run_all(left, workers):
            waiting = [other for other in waiting if other is not job]
            if isinstance(record, NodewiseError):
                failed += 1
                line = f"{job.dataset}, {job.model}, seed {job.seed}: {record}"
                progress.console.print(line, highlight=False, soft_wrap=True, markup=False)
                continue
            if record["interrupted"]:
                raise KeyboardInterrupt
            done += 1
            pace.learn(job, record["seconds"])
            soon, last = _time_left(pace, waiting, workers), _told(job, record)
            progress.update(bar, advance=1, time=soon, last=last)
            if not options.quiet and not progress.console.is_terminal:
                typer.echo(f"{done} of {len(left)}{_after_comma(soon)}: {last}", err=True)
    if failed:
        typer.echo(f"nodewise: {failed} failed, see above", err=True)
        raise typer.Exit(1)
    return done


def _left(jobs: Sequence[Job], out: Path) -> tuple[list[Job], Pace]:
    """The runs that are not done, and how long those took that are."""
    from nodewise.experiments.pace import Pace

    return [job for job in jobs if not job.is_done()], Pace.of(out)


def _headline(title: str, jobs: Sequence[Job], left: Sequence[Job], soon: str) -> str:
    return f"{title}: {len(jobs) - len(left)} runs done, {len(left)} left{_after_comma(soon)}"


def _time_left(pace: Pace, waiting: Sequence[Job], workers: int) -> str:
    seconds, busy = pace.seconds(waiting), min(workers, len(waiting))
    return f"about {duration(seconds / busy)} to go" if seconds else ""


def _after_comma(words: str) -> str:
    return f", {words}" if words else ""


def _told(job: Job, record: dict[str, Any]) -> str:
    accuracy = 100 * record["test_accuracy"]
    where = f"{job.dataset} {job.model} {job.folder.parent.name} seed {job.seed}"
    return f"{where}: {accuracy:.1f} % in {record['seconds']:.0f} s"
