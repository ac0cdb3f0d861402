"""Nodes in the plane; color and mark are the class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from nodewise.report.style import COLORS, MARKS


def scatter(axes: Axes, points: Sequence[Sequence[float]], labels: Sequence[int]) -> None:
    """Draw nodes.

    Args:
        axes: Where to.
        points: Their places, shape (N, 2).
        labels: The class of each, shape (N,).
    """
    places, classes = np.asarray(points), np.asarray(labels)
    for k in np.unique(classes):
        color, mark = _look(int(k))
        x, y = places[classes == k].T
        # As pixels: thousands of marks would make the page megabytes large.
        axes.scatter(x, y, s=9, marker=mark, color=color, linewidths=0, alpha=0.8, rasterized=True)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal", adjustable="datalim")


def star(axes: Axes, point: Sequence[float]) -> None:
    """Mark the global weight."""
    axes.plot(*point, "*", color="black", markeredgecolor="white", markersize=20, zorder=5)


def legend(figure: Figure, classes: Sequence[str], columns: int = 4) -> None:
    """Name the classes below a figure."""
    entries = []
    for k, name in enumerate(classes):
        color, mark = _look(k)
        entries.append(Line2D([], [], marker=mark, linestyle="", color=color, label=name))
    look: dict[str, Any] = {"loc": "outside lower center", "frameon": False, "fontsize": 9}
    figure.legend(handles=entries, ncols=columns, **look)


def _look(k: int) -> tuple[str, str]:
    """Color and mark of a class; with more classes than colors, the marks change."""
    return COLORS[k % len(COLORS)], MARKS[(k + k // len(COLORS)) % len(MARKS)]
