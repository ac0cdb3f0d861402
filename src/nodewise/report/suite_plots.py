"""Plots of suites: levels switched on and off, matched pairs, and the weight of penalties.

Ours are filled marks, the paper's hollow ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from nodewise.experiments.records import CellRuns
from nodewise.report.paired import Difference
from nodewise.report.style import COLOURS, MARKS, new_figure

Records = Sequence[Mapping[str, Any]]
Forms = dict[str, Records]
Curves = Mapping[str, Mapping[float, Records]]


def ablation(
    of_datasets: Mapping[str, Mapping[str, Forms]], printed: Mapping[str, Mapping[str, float]]
) -> Figure:
    """A panel for each data set: accuracy of every form of every model, with deviations.

    Args:
        of_datasets: Records by data set, model and form, the whole model last.
        printed: The paper's accuracies of whole models by data set and model, in percent.
    """
    figure, panels = new_figure(2.9 * len(of_datasets), 3.4, len(of_datasets))
    names: list[str] = []
    for axes, (dataset, models) in zip(panels, of_datasets.items(), strict=True):
        for i, (model, forms) in enumerate(models.items()):
            names = list(forms)
            for k, records in enumerate(forms.values()):
                place = i + 0.2 * (k - (len(forms) - 1) / 2)
                _point(axes, place, records, k)
            if model in printed[dataset]:
                _hollow(axes, place + 0.12, printed[dataset][model], k)
        _frame(axes, dataset, any(any(forms.values()) for forms in models.values()))
        axes.set_xticks(range(len(models)), list(models))
        axes.set_xlim(-0.5, len(models) - 0.4)
    panels[0].set_ylabel("test accuracy, %")
    entries = [_entry(name, k) for k, name in enumerate(names)]
    papers = _entry(f"{names[-1]}, paper", len(names) - 1, hollow=True)
    _legend(figure, [*entries, papers])
    return figure


def differences(
    of_rows: Mapping[str, Mapping[str, Difference]], printed: Mapping[str, float]
) -> Figure:
    """One model minus another, with 95 % intervals: a row for each comparison.

    Args:
        of_rows: Differences by row and by way of comparing.
        printed: The paper's differences by row.
    """
    figure, (axes,) = new_figure(7.6, 1.2 + 0.42 * len(of_rows))
    axes.axvline(0, color="#666666", linewidth=1)
    ways = list(dict.fromkeys(way for of_row in of_rows.values() for way in of_row))
    for i, (row, of_row) in enumerate(of_rows.items()):
        for way, found in of_row.items():
            k = ways.index(way)
            _interval(axes, i + 0.26 * (k - (len(ways) - 1) / 2), found, k)
        if row in printed:
            _hollow(axes, 100 * printed[row], i, 3)
    axes.set_yticks(range(len(of_rows)), list(of_rows))
    axes.set_ylim(len(of_rows) - 0.5, -0.5)
    axes.set_xlim(*_limits(of_rows, printed))
    axes.set_xlabel("difference in test accuracy, points")
    entries = [_entry(way, k) for k, way in enumerate(ways)]
    papers = [_entry("paper: model minus base model", 3, hollow=True)] if printed else []
    _legend(figure, [*entries, *papers])
    return figure


def _limits(
    of_rows: Mapping[str, Mapping[str, Difference]], printed: Mapping[str, float]
) -> tuple[float, float]:
    """What is to be seen: everything but the endless intervals of two or three pairs."""
    found = [one for of_row in of_rows.values() for one in of_row.values()]
    ends = [end for one in found if one.pairs > 3 for end in (one.low, one.high)]
    seen = [0.0, *ends, *printed.values(), *(gap for one in found for gap in one.gaps)]
    margin = 0.05 * (max(seen) - min(seen)) + 0.001
    return 100 * (min(seen) - margin), 100 * (max(seen) + margin)


def penalty_curves(
    of_datasets: Mapping[str, Curves],
    levels: Mapping[str, Mapping[str, CellRuns]],
    printed: Mapping[str, float],
) -> Figure:
    """Accuracy over the weight of a penalty: a panel a data set, a line a penalty.

    Args:
        of_datasets: Records by data set, penalty and its weight.
        levels: Runs of models without penalties, by data set and model.
        printed: The paper's accuracies by data set, in percent, at a weight of one.
    """
    figure, panels = new_figure(3.8 * len(of_datasets), 3.6, len(of_datasets))
    for axes, (dataset, penalties) in zip(panels, of_datasets.items(), strict=True):
        for k, weights in enumerate(penalties.values()):
            _curve(axes, weights, k)
        for k, cell in enumerate(levels[dataset].values()):
            mean = 100 * fmean(record["test_accuracy"] for record in cell.records)
            axes.axhline(mean, color="#444444", linestyle=_DASHES[k], linewidth=1.3)
        _frame(axes, dataset, any(any(weights.values()) for weights in penalties.values()))
        if dataset in printed:
            _hollow(axes, 1, printed[dataset], 3)
        axes.set_xscale("log")
        axes.set_xlabel("weight of the penalty")
    panels[0].set_ylabel("test accuracy, %")
    _legend(figure, _penalty_entries(of_datasets, levels))
    return figure


_DASHES: tuple[Any, ...] = ("--", ":", "-.")


def _penalty_entries(
    of_datasets: Mapping[str, Curves], levels: Mapping[str, Mapping[str, CellRuns]]
) -> list[Line2D]:
    penalties = next(iter(of_datasets.values()))
    lines = [_entry(name, k, line="-") for k, name in enumerate(penalties)]
    drawn = list(dict.fromkeys(model for of_dataset in levels.values() for model in of_dataset))
    flat = [
        Line2D([], [], color="#444444", linestyle=_DASHES[k], label=name)
        for k, name in enumerate(drawn)
    ]
    return [*lines, *flat, _entry("paper", 3, hollow=True)]


def _curve(axes: Axes, weights: Mapping[float, Records], k: int) -> None:
    places = sorted(weight for weight, records in weights.items() if records)
    values = [[100 * r["test_accuracy"] for r in weights[place]] for place in places]
    axes.errorbar(
        places,
        [fmean(of_place) for of_place in values],
        yerr=[_spread(of_place) for of_place in values],
        fmt=f"-{MARKS[k]}",
        color=COLOURS[k],
        capsize=2,
        markersize=6,
    )


def _point(axes: Axes, place: float, records: Records, k: int) -> None:
    values = [100 * record["test_accuracy"] for record in records]
    if values:
        axes.errorbar(
            place,
            fmean(values),
            yerr=_spread(values),
            fmt=MARKS[k],
            color=COLOURS[k],
            capsize=2,
            markersize=6,
        )


def _interval(axes: Axes, height: float, found: Difference, k: int) -> None:
    colour = COLOURS[k]
    axes.plot([100 * found.low, 100 * found.high], [height, height], color=colour, linewidth=2)
    axes.plot(100 * found.mean, height, MARKS[k], color=colour, markersize=7)
    gaps = [100 * gap for gap in found.gaps]
    axes.plot(gaps, [height] * len(gaps), ".", color=colour, alpha=0.45, markersize=4)


def _hollow(axes: Axes, x: float, y: float, k: int) -> None:
    look: dict[str, Any] = {
        "markerfacecolor": "none",
        "markeredgewidth": 1.4,
        "markersize": 7,
        "zorder": 4,
    }
    axes.plot(x, y, MARKS[k], color="black", **look)


def _frame(axes: Axes, dataset: str, is_filled: bool) -> None:
    """A panel's title, and a word where it has nothing of ours."""
    axes.set_title(dataset, fontsize=10)
    if not is_filled:
        place: dict[str, Any] = {"ha": "center", "va": "center", "color": "#555555"}
        axes.text(0.5, 0.5, "no runs yet", transform=axes.transAxes, **place)


def _entry(name: str, k: int, hollow: bool = False, line: Any = "") -> Line2D:
    colour = "black" if hollow else COLOURS[k]
    face = "none" if hollow else colour
    look: dict[str, Any] = {
        "color": colour,
        "markerfacecolor": face,
        "markeredgewidth": 1.4 if hollow else 1.0,
    }
    return Line2D([], [], marker=MARKS[k], linestyle=line, label=name, **look)


def _legend(figure: Figure, entries: Sequence[Line2D]) -> None:
    look: dict[str, Any] = {"ncols": len(entries), "frameon": False, "fontsize": 9}
    figure.legend(handles=entries, loc="outside upper left", **look)


def _spread(values: Sequence[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0
