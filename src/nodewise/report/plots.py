"""Plots of run records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from nodewise.report.style import COLORS, MARKS, new_figure

_DASHES = ("--", ":", "-.")


class Level(NamedTuple):
    """A horizontal line: its name, and the accuracy."""

    name: str
    accuracy: float


Histories = Sequence[Sequence[Mapping[str, Any]]]


def accuracies(of_models: Mapping[str, Sequence[float]]) -> Figure:
    """A mark for every run's test accuracy, and a line at each model's mean."""
    figure, (axes,) = new_figure(6.2, 0.6 + 0.55 * len(of_models))
    for i, values in enumerate(of_models.values()):
        color, mark = COLORS[i % len(COLORS)], MARKS[i % len(MARKS)]
        percents = [100 * value for value in values]
        axes.plot(percents, [i] * len(percents), mark, color=color, alpha=0.75, markersize=7)
        mean = fmean(percents)
        axes.plot([mean, mean], [i - 0.3, i + 0.3], color=color, linewidth=2.5)
        axes.annotate(f"{mean:.1f}", (mean, i - 0.34), ha="center", va="bottom", color=color)
    axes.set_yticks(range(len(of_models)), list(of_models))
    axes.set_ylim(len(of_models) - 0.4, -0.75)
    axes.set_xlabel("test accuracy, %")
    return figure


def learning_curves(of_models: Mapping[str, Histories], levels: Sequence[Level] = ()) -> Figure:
    """Validation accuracy over epochs: the mean over seeds, and the range in a light shade.

    Args:
        of_models: The histories of each model's runs.
        levels: Accuracies to compare with.
    """
    figure, (axes,) = new_figure(5.4, 3.2)
    for i, (name, histories) in enumerate(of_models.items()):
        color = COLORS[i % len(COLORS)]
        length = min(len(history) for history in histories)
        runs = [
            [100 * line["val_accuracy"] for line in history[:length] if "val_accuracy" in line]
            for history in histories
        ]
        first = length - len(runs[0])
        columns = list(zip(*runs, strict=True))
        epochs = range(first, length)
        axes.plot(epochs, [fmean(c) for c in columns], color=color, label=name, linewidth=1.8)
        low, high = [min(c) for c in columns], [max(c) for c in columns]
        axes.fill_between(epochs, low, high, color=color, alpha=0.15, linewidth=0)
    for level, dashes in zip(levels, _DASHES, strict=False):
        look: dict[str, Any] = {"color": "#444444", "linestyle": dashes, "linewidth": 1.4}
        axes.axhline(100 * level.accuracy, label=level.name, **look)
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    axes.set_xlabel("epoch")
    axes.set_ylabel("validation accuracy, %")
    axes.legend(frameon=False)
    return figure
