"""Plots of suites: levels switched on and off, matched pairs, and the weight of penalties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nodewise.report.paired import Difference
from nodewise.report.style import COLOURS, MARKS, new_figure

Records = Sequence[Mapping[str, Any]]


def ablation(of_models: Mapping[str, Mapping[str, Mapping[str, Records]]]) -> Figure:
    """A panel for each data set: accuracy of every form of every model, with deviations.

    Args:
        of_models: Records by data set, model and form.
    """
    figure, panels = new_figure(3.1 * len(of_models), 3.4, len(of_models))
    for axes, (dataset, models) in zip(panels, of_models.items(), strict=True):
        for i, forms in enumerate(models.values()):
            for k, (form, records) in enumerate(forms.items()):
                place = i + 0.2 * (k - (len(forms) - 1) / 2)
                label = form if i == 0 else None
                _point(axes, place, records, k, label)
        axes.set_xticks(range(len(models)), list(models))
        axes.set_title(dataset, fontsize=10)
    panels[0].set_ylabel("test accuracy, %")
    panels[0].legend(frameon=False, fontsize=8)
    return figure


def _point(axes: Axes, place: float, records: Records, k: int, label: str | None) -> None:
    values = [100 * record["test_accuracy"] for record in records]
    if values:
        spread = stdev(values) if len(values) > 1 else 0.0
        axes.errorbar(
            place,
            fmean(values),
            yerr=spread,
            fmt=MARKS[k],
            color=COLOURS[k],
            label=label,
            capsize=2,
            markersize=6,
        )


def differences(of_rows: Mapping[str, Difference]) -> Figure:
    """Localized minus matched global, with 95 % intervals; filled where zero is left out."""
    figure, (axes,) = new_figure(6.4, 0.9 + 0.32 * len(of_rows))
    axes.axvline(0, color="#888888", linewidth=1)
    for i, found in enumerate(of_rows.values()):
        colour = COLOURS[0] if found.mean >= 0 else COLOURS[4]
        axes.plot([100 * found.low, 100 * found.high], [i, i], color=colour, linewidth=2)
        face = colour if found.is_clear else "white"
        axes.plot(100 * found.mean, i, "o", color=colour, markerfacecolor=face, markersize=7)
    axes.set_yticks(range(len(of_rows)), list(of_rows))
    axes.set_ylim(len(of_rows) - 0.5, -0.5)
    axes.set_xlabel("difference in test accuracy, points")
    return figure


def penalty_curves(
    of_datasets: Mapping[str, Mapping[str, Mapping[float, Records]]],
    levels: Mapping[str, float],
) -> Figure:
    """Accuracy over the weight of a penalty: a panel a data set, a line a penalty.

    Args:
        of_datasets: Records by data set, penalty and its weight.
        levels: Accuracy of the plain base model by data set, drawn as a dashed line.
    """
    figure, panels = new_figure(3.6 * len(of_datasets), 3.2, len(of_datasets))
    for axes, (dataset, penalties) in zip(panels, of_datasets.items(), strict=True):
        for k, (name, weights) in enumerate(penalties.items()):
            places = sorted(weight for weight, records in weights.items() if records)
            means = [100 * fmean(r["test_accuracy"] for r in weights[p]) for p in places]
            axes.plot(places, means, f"-{MARKS[k]}", color=COLOURS[k], label=name)
        if dataset in levels:
            level = 100 * levels[dataset]
            axes.axhline(level, color="#555555", linestyle="--", linewidth=1, label="GCN")
        axes.set_xscale("log")
        axes.set_title(dataset, fontsize=10)
        axes.set_xlabel("weight of the penalty")
    panels[0].set_ylabel("test accuracy, %")
    panels[0].legend(frameon=False, fontsize=8)
    return figure
