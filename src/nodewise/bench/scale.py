"""`nodewise bench scale`: the time of an edge as the graph grows, degree and width fixed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from nodewise.bench.memory import extra_peak_mb
from nodewise.bench.timing import side_by_side
from nodewise.errors import InputError
from nodewise.nn.localized_conv import LocalizedConv

DEGREE, WIDTH, OUT, BOTTLENECK = 10, 64, 8, 8
EDGES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)


def layer_job(edges: int) -> Callable[[], None]:
    """A localized layer, forward and backward, on a random graph with so many edges."""
    nodes = edges // DEGREE
    make = torch.Generator().manual_seed(0)
    x = torch.randn(nodes, WIDTH, generator=make)
    edge_index = torch.randint(nodes, (2, edges), generator=make)
    conv = LocalizedConv(WIDTH, OUT, "mean", bottleneck=BOTTLENECK)

    def job() -> None:
        out, modulations = conv(x, edge_index, return_modulations=True)
        squares = [part for one in modulations for part in (one.scale_squares, one.shift_squares)]
        torch.autograd.grad(out.sum() + torch.stack(squares).sum(), list(conv.parameters()))

    return job


def bench_scale(
    edges: Sequence[int] = EDGES,
    repeats: int = 5,
    progress: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Measure, and return the figures under the keys of the command."""
    points: list[dict[str, Any]] = []
    for count in edges:
        progress(f"{count:,} edges")
        taken = side_by_side({"layer": layer_job(count)}, repeats)["layer"]
        points.append(
            {
                "nodes": count // DEGREE,
                "edges": count,
                "seconds": taken,
                "seconds_per_edge": taken / count,
                "seconds_per_seed": taken / (count // DEGREE),
                "peak_mb": extra_peak_mb(layer_job, count),
            }
        )
    costs = [point["seconds_per_edge"] for point in points]
    return {
        "threads": torch.get_num_threads(),
        "degree": DEGREE,
        "width": WIDTH,
        "points": points,
        "flatness": max(costs) / min(costs),
    }


def check_plot(path: Path) -> None:
    """Check that a plot can be written, before anything is measured.

    Raises:
        InputError: It cannot.
    """
    if path.suffix not in (".png", ".svg", ".pdf"):
        way_out = "name a .png, .svg or .pdf file"
        raise InputError("--plot", "is not a plot's file name", value=path, way_out=way_out)
    if not path.parent.is_dir():
        raise InputError(
            "--plot", "its folder does not exist", value=path, way_out="create the folder"
        )


def plot_scale(figures: dict[str, Any], path: Path) -> None:
    """Draw the cost of an edge against the number of edges."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    edges = [point["edges"] for point in figures["points"]]
    cost = [1e9 * point["seconds_per_edge"] for point in figures["points"]]
    axes.plot(edges, cost, "o-", color="#0072B2")
    axes.set_xscale("log")
    axes.set_ylim(0, 1.25 * max(cost))
    axes.set_xlabel("edges")
    axes.set_ylabel("nanoseconds per edge, forward and backward")
    axes.set_title(
        f"A localized layer, degree {figures['degree']}, width {figures['width']}, "
        f"{figures['threads']} threads"
    )
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)
