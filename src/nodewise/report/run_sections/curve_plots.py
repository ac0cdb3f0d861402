"""Plots of classes against the rest: precision over recall, and the ROC of two classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from nodewise.report.style import COLORS, MARKS, new_figure, short
from nodewise.training.curves import false_shares, recalls

_WIDTH, _HEIGHT, _LINE = 3.7, 3.0, 0.2  # inches; a line of a legend
_LEGEND: dict[str, Any] = {
    "loc": "outside lower left",
    "frameon": False,
    "fontsize": 9,
    "alignment": "left",
}


@dataclass(frozen=True)
class ClassCurve:
    """A class against the rest.

    Attributes:
        name: Its name.
        share: Its share of the nodes, which is the precision of guessing.
        average_precision: Its average precision.
        precision: The precision at each of `recalls`; empty for a class that is not drawn.
    """

    name: str
    share: float
    average_precision: float
    precision: Sequence[float]


def precision_recall(curves: Sequence[ClassCurve]) -> Figure:
    """A line for each class, and its share as a dashed one."""
    figure, (axes,) = new_figure(_WIDTH, _HEIGHT + _LINE * (len(curves) + 2))
    places, handles = [100 * recall for recall in recalls()], []
    for i, curve in enumerate(curves):
        color, mark = COLORS[i % len(COLORS)], MARKS[i % len(MARKS)]
        values = [100 * value for value in curve.precision]
        label = f"{100 * curve.average_precision:.1f}  {short(curve.name)}"
        every = (3 + i, 10)  # marks of different classes at different places
        handles += axes.plot(
            places, values, color=color, marker=mark, markevery=every, markersize=5, label=label
        )
        axes.axhline(100 * curve.share, color=color, linestyle="--", linewidth=1)
    guessing = Line2D([], [], color="#444444", linestyle="--", linewidth=1, label="guessing")
    _percent_axes(axes, "recall, %", "precision, %")
    figure.legend(handles=[*handles, guessing], title="average precision, %", **_LEGEND)
    return figure


def roc(shares: Sequence[float], area: float | None) -> Figure:
    """The true positive rate over the false positive rate."""
    figure, (axes,) = new_figure(_WIDTH, _HEIGHT + 4 * _LINE)
    label = "the model" if area is None else f"{100 * area:.1f}  the model"
    places, values = ([100 * value for value in side] for side in (false_shares(), shares))
    axes.plot(places, values, color=COLORS[0], label=label)
    axes.plot([0, 100], [0, 100], color="#444444", linestyle="--", linewidth=1, label="guessing")
    _percent_axes(axes, "false positives, % of negatives", "found, % of positives")
    figure.legend(title="ROC AUC, %", **_LEGEND)
    return figure


def _percent_axes(axes: Axes, x: str, y: str) -> None:
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 103)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
