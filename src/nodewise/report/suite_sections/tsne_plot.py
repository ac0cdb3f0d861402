"""Nodes in the plane; color and mark are the class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from nodewise.report.style import COLORS, MARKS, new_figure


def layouts(record: Mapping[str, Any]) -> Figure:
    """A panel for each model's representations, and one for the weights with the global W."""
    models, weights = record["representations"], record["weights"]
    figure, panels = new_figure(3.6 * (len(models) + 1), 4.2, len(models) + 1)
    for axes, (name, of_model) in zip(panels, models.items(), strict=False):
        _scatter(axes, of_model["points"], record["labels"])
        axes.set_title(f"{name}: representations", fontsize=10)
    *points, middle = weights["points"]
    axes = panels[-1]
    _scatter(axes, points, record["labels"])
    axes.plot(*middle, "*", color="black", markeredgecolor="white", markersize=20, zorder=5)
    axes.set_title(f"{weights['model']}: all W_v, W as a star", fontsize=10)
    _legend(figure, [name.replace("_", " ") for name in record["classes"]])
    return figure


def _look(k: int) -> tuple[str, str]:
    """Color and mark of a class; with more classes than colors, the marks change."""
    return COLORS[k % len(COLORS)], MARKS[(k + k // len(COLORS)) % len(MARKS)]


def _scatter(axes: Axes, points: Sequence[Sequence[float]], labels: Sequence[int]) -> None:
    places, classes = np.asarray(points), np.asarray(labels)
    for k in np.unique(classes):
        color, mark = _look(int(k))
        x, y = places[classes == k].T
        # As pixels: thousands of marks would make the page megabytes large.
        axes.scatter(x, y, s=9, marker=mark, color=color, linewidths=0, alpha=0.8, rasterized=True)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal", adjustable="datalim")


def _legend(figure: Figure, classes: Sequence[str]) -> None:
    entries = []
    for k, name in enumerate(classes):
        color, mark = _look(k)
        entries.append(Line2D([], [], marker=mark, linestyle="", color=color, label=name))
    figure.legend(handles=entries, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
