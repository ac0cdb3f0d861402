"""`nodewise demo`: four models on the toy graph, a table and a page; no network, a minute."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nodewise.cli.demo_run import keep_run, places_beside
from nodewise.cli.options import Device, Json, Quiet, Workers, check_device
from nodewise.cli.pages import check_page
from nodewise.cli.stopping import stopped
from nodewise.cli.tables import print_json, print_table
from nodewise.errors import NodewiseError
from nodewise.runs.interrupts import unmasking_interrupts
from nodewise.runs.progress import make_progress
from nodewise.runs.score_text import percent_text

if TYPE_CHECKING:
    from nodewise.experiments.runner import Job

Seeds = Annotated[
    int, typer.Option("--seeds", min=1, help="Runs; each has its own split and initialization.")
]
Out = Annotated[
    Path, typer.Option("--out", "-o", help="The HTML report; the explorer is written beside it.")
]
_EPOCHS = 250  # more would improve all of them a little, and take more than a minute
_MODELS = {"GCN": "GCN", "matched global": "LGCN:global", "LGCN": "LGCN", "GCN-64": "GCN-64"}
# The global model that does best on validation nodes here, under settings that suit it.
_SETTINGS: dict[str, dict[str, Any]] = {"GCN-64": {"features": "none", "learning_rate": 0.03}}


def demo(
    seeds: Seeds = 5,
    out: Out = Path("nodewise-demo.html"),
    workers: Workers = None,
    device: Device = "cpu",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train GCN, the matched global model, LGCN and GCN-64 on the embedded toy graph.

    The toy graph holds papers of six fields. Words such as "cell" or "kernel" stand for another
    class in each field, and a paper's field shows only through its neighborhood. The matched
    global model is LGCN with localization switched off; GCN-64 is a strong global model, wide and
    with settings of its own. Beside the report are the LGCN that did best on validation nodes, and
    a page that shows what localization did to each paper.

    **Examples**

    - `nodewise demo`
    - `nodewise demo --seeds 2 --out demo.html`
    - `nodewise demo --json | tail -n 1`
    """
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        try:
            with unmasking_interrupts():
                check_device(device)
                check_page(out, "--out")
                explorer, run = places_beside(out)
                _train(_jobs(Path(folder), seeds, device), workers, quiet)
                records = _records(Path(folder), seeds)
        except KeyboardInterrupt:
            raise stopped("stopped by Ctrl-C; nothing was written") from None
        rows = _write(out, records, Path(folder), explorer.name)
        keep_run(Path(folder) / "LGCN", explorer, run)
    noun = "seed" if seeds == 1 else "seeds"
    columns = ("model", f"test accuracy %, {seeds} {noun}")
    print_table(columns, [[row["model"], percent_text(row, "test_accuracy")] for row in rows])
    if not quiet:
        typer.echo(f"report: {out}")
        typer.echo(f"what localization did: {explorer}; live: nodewise explore {quote(str(run))}")
    made = {"report": out, "explorer": explorer, "run": run}
    print_json({"table": rows, **{name: str(path) for name, path in made.items()}}, json)


def _jobs(folder: Path, seeds: int, device: str) -> list[Job]:
    from nodewise.experiments.runner import Job
    from nodewise.runs.sources import dataset_source

    # LGCN early: the longest jobs should not be the last to start.
    return [
        Job(
            dataset_source("toy", "random", seed),
            model,
            seed,
            _folder(folder, name, seed),
            settings={"epochs": _EPOCHS, **_SETTINGS.get(name, {})},
            device=device,
        )
        for name, model in reversed(_MODELS.items())
        for seed in range(seeds)
    ]


def _folder(folder: Path, name: str, seed: int) -> Path:
    from nodewise.runs.seeds import seed_folder

    return seed_folder(folder / name, seed)


def _train(jobs: list[Job], workers: int | None, quiet: bool) -> None:
    import os

    from nodewise.experiments.runner import run_all

    with make_progress(quiet) as progress:
        bar = progress.add_task("four models on the toy graph", total=len(jobs))
        for _, record in run_all(jobs, workers or os.cpu_count() or 1):
            if isinstance(record, NodewiseError):
                raise record
            if record["interrupted"]:
                raise KeyboardInterrupt
            progress.advance(bar)


def _records(folder: Path, seeds: int) -> dict[str, list[dict[str, Any]]]:
    """The records of every model, by its name in the table."""
    from nodewise.runs.folder import RunFolder

    return {
        name: [RunFolder(_folder(folder, name, seed)).result or {} for seed in range(seeds)]
        for name in _MODELS
    }


def _write(
    out: Path, records: dict[str, list[dict[str, Any]]], folder: Path, explorer: str
) -> list[dict[str, Any]]:
    """Write the page, and return the table's rows."""
    from nodewise.report.demo import write_demo
    from nodewise.runs.folder import RunFolder
    from nodewise.runs.seeds import summarize

    rows = [{"model": name, **summarize(runs)} for name, runs in records.items()]
    histories = {
        name: [RunFolder(_folder(folder, name, seed)).history for seed in range(len(runs))]
        for name, runs in records.items()
    }
    write_demo(out, rows, records, histories, explorer)
    return rows
