"""`nodewise demo`: the toy graph, a model, a table; in under a minute and without a network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nodewise.cli.options import Json, Quiet, Threads

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Table

Seeds = Annotated[
    int, typer.Option("--seeds", min=1, help="Runs; each has its own split and initialization.")
]
_INTERRUPTED = 130  # what shells report for a program that Ctrl-C ended


def demo(
    seeds: Seeds = 5, threads: Threads = None, json: Json = False, quiet: Quiet = False
) -> None:
    """Train on the embedded toy graph and print how well it went.

    The toy graph holds papers of six fields. Words such as "cell" or "kernel" stand for another
    class in each field, and a paper's field shows only through its neighbourhood.

    **Examples**

    - `nodewise demo`
    - `nodewise demo --seeds 1 --threads 1`
    - `nodewise demo --json | tail -n 1`
    """
    # A parameter called json is the option's name; the module comes under another.
    from json import dumps

    with _ending_cleanly():
        accuracies = _train_gcn(seeds, threads, quiet)
        rows = [_row("GCN", accuracies)]
        _print(_table(rows, seeds))
        if json:
            typer.echo(dumps({"table": rows, "report": None}))


@contextmanager
def _ending_cleanly() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("nodewise: stopped by Ctrl-C; nothing was written", err=True)
        raise typer.Exit(_INTERRUPTED) from None


def _train_gcn(seeds: int, threads: int | None, quiet: bool) -> list[float]:
    """The test accuracy of PyG's GCN for each seed."""
    import torch

    from nodewise.cli._plain_training import PlainGCN, best_test_accuracy, toy_split
    from nodewise.data.toy import toy_graph

    if threads is not None:
        torch.set_num_threads(threads)
    data, accuracies = toy_graph(), []
    with _progress(quiet) as progress:
        for seed in progress.track(range(seeds), description="GCN on the toy graph"):
            torch.manual_seed(seed)
            model = PlainGCN(data.num_features, 8, len(data.class_names))
            accuracies.append(best_test_accuracy(model, data, toy_split(data, seed)))
    return accuracies


def _progress(quiet: bool) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    hidden = quiet or not console.is_terminal
    return Progress(*columns, console=console, transient=True, disable=hidden)


def _row(model: str, accuracies: list[float]) -> dict[str, Any]:
    from statistics import fmean, pstdev

    return {
        "model": model,
        "test_accuracy_mean": fmean(accuracies),
        "test_accuracy_std": pstdev(accuracies),
    }


def _table(rows: list[dict[str, Any]], seeds: int) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("model")
    table.add_column(f"test accuracy, {seeds} {'seed' if seeds == 1 else 'seeds'}", justify="right")
    for row in rows:
        mean, std = 100 * row["test_accuracy_mean"], 100 * row["test_accuracy_std"]
        table.add_row(row["model"], f"{mean:.1f} ± {std:.1f} %")
    return table


def _print(table: Table) -> None:
    from rich.console import Console

    Console().print(table)
