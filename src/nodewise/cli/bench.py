"""`nodewise bench`: costs of localization on this machine, as ratios measured in one run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from nodewise.cli.options import Json, Quiet, Root, Threads, set_up
from nodewise.cli.tables import print_json

app = typer.Typer(
    help="Measure costs of localization on this machine: ratios, side by side in one run.",
    no_args_is_help=True,
)
Dataset = Annotated[str, typer.Option("--dataset", help="The data set; see `nodewise datasets`.")]
Repeats = Annotated[int, typer.Option("--repeats", min=1, help="Timed calls; medians are shown.")]
Plot = Annotated[
    Path | None, typer.Option("--plot", help="Also draw the curve to this PNG, SVG or PDF file.")
]


@app.command()
def messages(
    dataset: Dataset = "cora",
    root: Root = None,
    repeats: Repeats = 7,
    threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Localized messages of layer 1: our kernels against the per-edge form.

    Timed are generators, messages and penalty sums, forward and backward, on the full graph. The
    per-edge form takes seconds, and on amazon 8 GB of memory.

    **Examples**

    - `nodewise bench messages`
    - `nodewise bench messages --dataset chameleon --json`
    """
    set_up(threads)
    from nodewise.bench.messages import bench_messages

    _report(bench_messages(dataset, root, repeats, _progress(quiet)), json)


@app.command()
def epoch(
    dataset: Dataset = "cora",
    root: Root = None,
    repeats: Repeats = 25,
    threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """A training epoch of LGCN-8 against GCN-8, PyG's and ours; of SAGE-64 against PyG's.

    **Examples**

    - `nodewise bench epoch`
    - `nodewise bench epoch --dataset amazon --json`
    """
    set_up(threads)
    from nodewise.bench.epoch import bench_epoch

    _report(bench_epoch(dataset, root, repeats, _progress(quiet)), json)


@app.command()
def sampler(
    nodes: Annotated[
        int, typer.Option("--nodes", min=20_000, help="Nodes of the graph, of degree 20.")
    ] = 1_000_000,
    batches: Annotated[
        int, typer.Option("--batches", min=1, help="Batches of 1,024 seeds in a timed call.")
    ] = 100,
    repeats: Repeats = 5,
    threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Sampled edges per second, against a sampler in plain torch that does the same work.

    The graph is a power law; each seed has at most 15 neighbors, and each of those at most 10. Both
    samplers draw neighborhoods without repeats, with as many threads.

    **Examples**

    - `nodewise bench sampler --json`
    - `nodewise bench sampler --nodes 5000000`
    """
    set_up(threads)
    from nodewise.bench.sampler import BATCH_SIZE, bench_sampler
    from nodewise.errors import InputError

    if batches * BATCH_SIZE > nodes:
        way_out = f"give at most {nodes // BATCH_SIZE}, or more nodes"
        raise InputError("--batches", "have more seeds than nodes", value=batches, way_out=way_out)
    _report(bench_sampler(nodes, batches, repeats, _progress(quiet)), json)


@app.command()
def scale(
    sizes: Annotated[
        str, typer.Option("--sizes", help="Numbers of nodes, such as 10000,1000000.")
    ] = "10000,100000,1000000,5000000",
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", help="Write the graphs there, and keep them (default: a temporary folder)."
        ),
    ] = None,
    fanout: Annotated[
        str, typer.Option("--fanout", help="Neighbors sampled at each hop, at most.")
    ] = "10,5",
    batch_size: Annotated[
        int, typer.Option("--batch-size", min=1, help="Training nodes in a mini-batch.")
    ] = 64,
    limit: Annotated[
        str | None,
        typer.Option("--limit", help="Limit each process to this memory, such as 4GB (Linux)."),
    ] = None,
    plot: Plot = None,
    threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The time of a training node by mini-batches, from 10 thousand to 5 million nodes in files.

    Synthetic graphs of degree 20 with 128 features are written first; the largest takes 3 GB of
    disk, and minutes. Each is trained on in a process of its own, whose peak memory is shown.

    **Examples**

    - `nodewise bench scale --plot scale.png`
    - `nodewise bench scale --sizes 10000,1000000 --limit 4GB --json`
    """
    set_up(threads)
    from nodewise.bench.scale import SETTINGS, bench_scale, check_plot, plot_scale
    from nodewise.models.memory import memory_budget

    if plot is not None:
        check_plot(plot)
    most = None if limit is None else memory_budget(limit, "--limit")
    settings = {**SETTINGS, "fanout": fanout, "batch_size": batch_size}
    numbers = _numbers("--sizes", sizes)
    figures = bench_scale(numbers, folder, most, _progress(quiet), settings)
    _report(figures, json)
    if plot is not None:
        plot_scale(figures, plot)


@app.command()
def ddp(
    nodes: Annotated[
        int, typer.Option("--nodes", min=20_000, help="Nodes of the graph, of degree 20.")
    ] = 500_000,
    repeats: Repeats = 3,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The throughput of two processes of one thread each that train together, against one.

    They train an LGCN by mini-batches on a graph in memory-mapped files, 512 seeds a batch for each
    process; every step adds up their gradients.

    **Examples**

    - `nodewise bench ddp --json`
    """
    from nodewise.bench.ddp import bench_ddp

    _report(bench_ddp(nodes, repeats, _progress(quiet)), json)


def _numbers(option: str, text: str) -> list[int]:
    """Whole numbers above zero with commas between them."""
    parts = [part.strip().replace("_", "") for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        from nodewise.errors import InputError

        way_out = "give such as 10000,1000000"
        raise InputError(option, "is not a list of numbers", value=text, way_out=way_out)
    return [int(part) for part in parts]


def _progress(quiet: bool) -> Callable[[str], None]:
    return (lambda line: None) if quiet else (lambda line: typer.echo(f"... {line}", err=True))


def _report(figures: dict[str, Any], as_json: bool) -> None:
    """Print a line for each number and for each point of a list."""
    for name, value in figures.items():
        if isinstance(value, list) and isinstance(value[0], dict):
            for point in value:
                typer.echo("  ".join(f"{key} {_number(number)}" for key, number in point.items()))
        else:
            typer.echo(f"{name:36} {_number(value)}")
    print_json(figures, as_json)


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
