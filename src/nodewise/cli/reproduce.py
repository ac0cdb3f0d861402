"""`nodewise reproduce`: the paper's tables and figures, run by run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nodewise.cli.options import Device, Json, Quiet, Root, Workers, check_device
from nodewise.cli.progress import make_progress
from nodewise.errors import NodewiseError
from nodewise.training.interrupts import INTERRUPTED

if TYPE_CHECKING:
    from nodewise.experiments.runner import Job

SuiteName = Annotated[
    str, typer.Argument(help="main, val100, ablation, matched, splits or lambda.")
]
Models = Annotated[
    list[str] | None, typer.Option("--models", "-m", help="Only this model; repeatable.")
]
Datasets = Annotated[
    list[str] | None, typer.Option("--datasets", "-d", help="Only this data set; repeatable.")
]
Runs = Annotated[int | None, typer.Option("--runs", min=1, help="Seeds (default: the suite's).")]
Out = Annotated[Path, typer.Option("--out", "-o", help="The folder of records.")]


def reproduce(
    suite: SuiteName,
    models: Models = None,
    datasets: Datasets = None,
    runs: Runs = None,
    out: Out = Path("results"),
    workers: Workers = None,
    device: Device = "cpu",
    root: Root = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a table or figure of the paper, or a comparison of ours; finished runs are skipped.

    Every row gets three runs before any gets more. Ctrl-C saves; the same command goes on. Look at
    the results, finished or not, with `nodewise report`.

    **Examples**

    - `nodewise reproduce main --datasets cora --runs 3`
    - `nodewise reproduce matched --models LGCN --models LGCN:global`
    """
    from nodewise.experiments.suite import Suite

    chosen = Suite.load(suite).only(models or [], datasets or [], runs)
    check_device(device)
    jobs = chosen.jobs(out, root, device)
    left = [job for job in jobs if not job.is_done()]
    if not quiet:
        typer.echo(f"{chosen.title}: {len(jobs) - len(left)} runs done, {len(left)} left")
    done = _run(left, len(jobs), workers or os.cpu_count() or 1, quiet)
    if json:
        from json import dumps

        typer.echo(dumps({"suite": suite, "runs": len(jobs), "trained": done, "out": str(out)}))


def _run(left: Sequence[Job], total: int, workers: int, quiet: bool) -> int:
    """Train what is left; a failed run is told and does not stop the others."""
    from nodewise.experiments.runner import run_all

    done, failed = 0, 0
    with make_progress(quiet, "last") as progress:
        bar = progress.add_task("runs", total=total, completed=total - len(left), last="")
        for job, record in run_all(left, workers):
            if isinstance(record, NodewiseError):
                failed += 1
                progress.console.print(f"{job.dataset}, {job.model}, seed {job.seed}: {record}")
                continue
            if record["interrupted"]:
                typer.echo("nodewise: stopped and saved; run the same command to go on", err=True)
                raise typer.Exit(INTERRUPTED)
            done += 1
            progress.update(bar, advance=1, last=_told(job, record))
            if not quiet and not progress.console.is_terminal:
                typer.echo(f"{done} of {len(left)}: {_told(job, record)}", err=True)
    if failed:
        typer.echo(f"nodewise: {failed} failed, see above", err=True)
        raise typer.Exit(1)
    return done


def _told(job: Job, record: dict[str, Any]) -> str:
    accuracy = 100 * record["test_accuracy"]
    where = f"{job.dataset} {job.model} {job.folder.parent.name} seed {job.seed}"
    return f"{where}: {accuracy:.1f} % in {record['seconds']:.0f} s"
