"""Costs of localized models relative to their base models, ours and the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from nodewise.experiments.suite import Suite
from nodewise.report.style import COLORS, MARKS, new_figure

# Ours and the paper's, by data set and localized model; None if unknown.
Ratios = Mapping[tuple[str, str], tuple[float | None, float | None]]


def cost_ratios(of_measures: Mapping[str, Ratios], suite: Suite) -> Figure:
    """A panel for each measure, a place for each pair, a mark and color for each data set."""
    figure, panels = new_figure(2.6 * len(of_measures), 3.3, len(of_measures))
    pairs = [pair.model for pair in suite.pairs]
    for axes, (title, ratios) in zip(panels, of_measures.items(), strict=True):
        for k, dataset in enumerate(suite.datasets):
            for i, model in enumerate(pairs):
                place = i + 0.3 * (k - (len(suite.datasets) - 1) / 2)
                ours, papers = ratios[dataset, model]
                look: dict[str, Any] = {"color": COLORS[k], "markersize": 7}
                if papers is not None:
                    axes.plot(place + 0.1, papers, MARKS[k], markerfacecolor="white", **look)
                if ours is not None:
                    axes.plot(place, ours, MARKS[k], **look)
        axes.axhline(1, color="#888888", linewidth=1)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_xticks(range(len(pairs)), [f"{p.model}\n/ {p.other}" for p in suite.pairs])
        axes.set_xlim(-0.5, len(pairs) - 0.5)
        axes.set_title(title.partition(",")[0], fontsize=10)
    panels[0].set_ylabel("times the base model")
    _legend(figure, suite)
    return figure


def _legend(figure: Figure, suite: Suite) -> None:
    entries = []
    for k, dataset in enumerate(suite.datasets):
        for whose, face in (("ours", COLORS[k]), ("paper", "white")):
            entries.append(
                Line2D(
                    [],
                    [],
                    marker=MARKS[k],
                    linestyle="",
                    color=COLORS[k],
                    markerfacecolor=face,
                    label=f"{dataset}, {whose}",
                )
            )
    figure.legend(handles=entries, loc="outside upper left", ncols=4, frameon=False, fontsize=9)
