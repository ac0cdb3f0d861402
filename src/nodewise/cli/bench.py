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
    largest: Annotated[
        int, typer.Option("--largest", min=100_000, help="Stop at this many edges.")
    ] = 10_000_000,
    plot: Plot = None,
    repeats: Repeats = 5,
    threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The time of an edge from 100 thousand to 10 million edges, degree and width fixed.

    **Examples**

    - `nodewise bench scale --plot scale.png`
    - `nodewise bench scale --largest 1000000`
    """
    set_up(threads)
    from nodewise.bench.scale import EDGES, bench_scale, check_plot, plot_scale

    if plot is not None:
        check_plot(plot)
    sizes = [edges for edges in EDGES if edges <= largest]
    figures = bench_scale(sizes, repeats, _progress(quiet))
    _report(figures, json)
    if plot is not None:
        plot_scale(figures, plot)


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
