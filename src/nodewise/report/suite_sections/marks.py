"""Marks that plots of suites share: ours are filled, the paper's are hollow and black."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import stdev
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from nodewise.report.style import COLORS, MARKS


def hollow(axes: Axes, x: float, y: float, k: int) -> None:
    """Draw a number of the paper as the k-th mark, without a filling."""
    look: dict[str, Any] = {
        "markerfacecolor": "none",
        "markeredgewidth": 1.4,
        "markersize": 7,
        "zorder": 4,
    }
    axes.plot(x, y, MARKS[k], color="black", **look)


def entry(name: str, k: int, hollow: bool = False, line: Any = "") -> Line2D:
    """The k-th mark and color in a legend, or the paper's hollow one."""
    color = "black" if hollow else COLORS[k]
    face = "none" if hollow else color
    look: dict[str, Any] = {
        "color": color,
        "markerfacecolor": face,
        "markeredgewidth": 1.4 if hollow else 1.0,
    }
    return Line2D([], [], marker=MARKS[k], linestyle=line, label=name, **look)


def legend(figure: Figure, entries: Sequence[Line2D]) -> None:
    """Draw entries above the panels, as many in a row as fit."""
    look: dict[str, Any] = {"loc": "outside upper left", "frameon": False, "fontsize": 9}
    for columns in range(len(entries), 0, -1):
        drawn = figure.legend(handles=entries, ncols=columns, **look)
        if drawn.get_window_extent().width <= figure.bbox.width or columns == 1:
            return
        drawn.remove()


def spread(values: Sequence[float]) -> float:
    """The standard deviation of a sample; zero for a single value."""
    return stdev(values) if len(values) > 1 else 0.0
