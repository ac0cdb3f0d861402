"""Plots of a run's diagnostics: confusion, calibration, localization, losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from nodewise.report.plots import Histories
from nodewise.report.scatter import legend, scatter, star
from nodewise.report.style import COLORS, new_figure, short

_READABLE = 15  # classes whose counts still fit into their cells


def confusion_matrix(counts: Sequence[Sequence[int]], classes: Sequence[str]) -> Figure:
    """Rows are true classes, columns predicted ones; shades are shares of the row."""
    size = min(2.2 + 0.5 * len(classes), 9.0)
    figure, (axes,) = new_figure(size + 0.8, size)
    shares = [[cell / max(sum(row), 1) for cell in row] for row in counts]
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    if len(classes) <= _READABLE:
        for i, row in enumerate(counts):
            for k, cell in enumerate(row):
                color = "white" if shares[i][k] > 0.55 else "black"
                axes.text(k, i, str(cell), ha="center", va="center", color=color)
        axes.set_xticks(range(len(classes)), [short(name) for name in classes], rotation=90)
        axes.set_yticks(range(len(classes)), [short(name) for name in classes])
    axes.grid(False)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    return figure


def reliability_diagram(bins: Sequence[Mapping[str, float]]) -> Figure:
    """Accuracy over confidence, bin by bin."""
    figure, (axes,) = new_figure(3.7, 3.2)
    filled = [entry for entry in bins if entry["count"]]
    confidence = [entry["confidence"] / entry["count"] for entry in filled]
    accuracy = [entry["right"] / entry["count"] for entry in filled]
    axes.plot([0, 1], [0, 1], color="#888888", linestyle="--", linewidth=1, label="calibrated")
    axes.plot(confidence, accuracy, "o-", color=COLORS[0], markersize=5, label="the model")
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("confidence")
    axes.set_ylabel("share that is right")
    axes.legend(frameon=False)
    return figure


def confidence_counts(bins: Sequence[Mapping[str, float]]) -> Figure:
    """The number of nodes of each bin of confidence."""
    figure, (axes,) = new_figure(3.7, 3.2)
    width = 1 / len(bins)
    places = [(i + 0.5) * width for i in range(len(bins))]
    axes.bar(places, [entry["count"] for entry in bins], 0.9 * width, color=COLORS[0])
    axes.set_xlim(0, 1)
    axes.set_xlabel("confidence")
    axes.set_ylabel("nodes")
    return figure


def localization_histogram(histogram: Mapping[str, Any]) -> Figure:
    """How many nodes have which distance from the global weight."""
    figure, (axes,) = new_figure(5.4, 2.6)
    edges = histogram["edges"]
    widths = [high - low for low, high in pairwise(edges)]
    axes.bar(edges[:-1], histogram["counts"], widths, align="edge", color=COLORS[2])
    axes.set_xlabel("distance of a node's local weight to the global one")
    axes.set_ylabel("nodes")
    return figure


def local_map(found: Mapping[str, Any], classes: Sequence[str]) -> Figure:
    """Local weights in the plane by predicted class, and the global weight as a star."""
    figure, (axes,) = new_figure(5.4, 4.2)
    scatter(axes, [at for *at, _ in found["nodes"]], [k for *_, k in found["nodes"]])
    star(axes, found["global"])
    legend(figure, [short(name) for name in classes], columns=2)
    return figure


def loss_curves(histories: Histories) -> Figure:
    """Cross-entropy on training nodes, and the loss on validation nodes, a line for each run."""
    figure, (axes,) = new_figure(5.4, 3.0)
    named = {"cross_entropy": "training", "val_loss": "validation"}
    for (key, name), color in zip(named.items(), COLORS, strict=False):
        for i, history in enumerate(histories):
            points = [(line["epoch"], line[key]) for line in history if key in line]
            epochs, values = zip(*points, strict=True) if points else ((), ())
            label = name if i == 0 else None
            axes.plot(epochs, values, color=color, linewidth=1.2, alpha=0.8, label=label)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss")
    axes.legend(frameon=False)
    return figure
