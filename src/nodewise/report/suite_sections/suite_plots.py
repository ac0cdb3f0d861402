"""Plots of suites: levels switched on and off, and the weight of penalties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from nodewise.experiments.records import CellRuns
from nodewise.report.style import COLORS, MARKS, new_figure
from nodewise.report.suite_sections.marks import entry, hollow, legend, spread

Records = Sequence[Mapping[str, Any]]
Forms = dict[str, Records]
Curves = Mapping[str, Mapping[float, Records]]


def ablation(
    of_datasets: Mapping[str, Mapping[str, Forms]], printed: Mapping[str, Mapping[str, float]]
) -> Figure:
    """A panel for each data set: accuracy of every form of every model, with deviations.

    Args:
        of_datasets: Records by data set, model and form, that with both levels last.
        printed: The paper's accuracies with both levels, by data set and model, in percent.
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
                hollow(axes, place + 0.12, printed[dataset][model], k)
        _frame(axes, dataset, any(any(forms.values()) for forms in models.values()))
        axes.set_xticks(range(len(models)), list(models))
        axes.set_xlim(-0.5, len(models) - 0.4)
    panels[0].set_ylabel("test accuracy, %")
    entries = [entry(name, k) for k, name in enumerate(names)]
    papers = entry(f"{names[-1]}, paper", len(names) - 1, hollow=True)
    legend(figure, [*entries, papers])
    return figure


def penalty_curves(
    of_datasets: Mapping[str, Curves],
    levels: Mapping[str, Mapping[str, CellRuns]],
    printed: Mapping[str, float],
    papers_weight: float,
) -> Figure:
    """Accuracy over the weight of a penalty: a panel a data set, a line a penalty.

    Args:
        of_datasets: Records by data set, penalty and its weight.
        levels: Runs of other models, drawn as lines, by data set and model.
        printed: The paper's accuracies by data set, in percent.
        papers_weight: The weight that they belong to.
    """
    figure, panels = new_figure(3.8 * len(of_datasets), 3.6, len(of_datasets))
    all_weights = [w for curves in of_datasets.values() for curve in curves.values() for w in curve]
    for axes, (dataset, penalties) in zip(panels, of_datasets.items(), strict=True):
        for k, weights in enumerate(penalties.values()):
            # Curves share the official weights: shifted a little, all marks are visible.
            aside = 1.12 ** (2 * k - len(penalties) + 1)
            _curve(axes, {aside * w: runs for w, runs in weights.items()}, k)
        for k, cell in enumerate(levels[dataset].values()):
            if not cell.records:
                continue
            mean = 100 * fmean(record["test_accuracy"] for record in cell.records)
            axes.axhline(mean, color="#444444", linestyle=_DASHES[k], linewidth=1.3)
        _frame(axes, dataset, any(any(weights.values()) for weights in penalties.values()))
        if dataset in printed:
            hollow(axes, papers_weight, printed[dataset], 3)
        axes.set_xscale("log")
        axes.set_xlim(min(all_weights) / 2, 2 * max(all_weights))
        axes.set_xlabel("weight of the penalty")
    panels[0].set_ylabel("test accuracy, %")
    legend(figure, _penalty_entries(of_datasets, levels))
    return figure


_DASHES: tuple[Any, ...] = ("--", ":", "-.")


def _penalty_entries(
    of_datasets: Mapping[str, Curves], levels: Mapping[str, Mapping[str, CellRuns]]
) -> list[Line2D]:
    penalties = next(iter(of_datasets.values()))
    lines = [entry(name, k, line="-") for k, name in enumerate(penalties)]
    flat = [
        Line2D([], [], color="#444444", linestyle=_DASHES[k], label=name)
        for k, name in enumerate(next(iter(levels.values())))
        if any(of_dataset[name].records for of_dataset in levels.values())
    ]
    return [*lines, *flat, entry("paper", 3, hollow=True)]


def _curve(axes: Axes, weights: Mapping[float, Records], k: int) -> None:
    places = sorted(weight for weight, records in weights.items() if records)
    values = [[100 * r["test_accuracy"] for r in weights[place]] for place in places]
    axes.errorbar(
        places,
        [fmean(of_place) for of_place in values],
        yerr=[spread(of_place) for of_place in values],
        fmt=f"-{MARKS[k]}",
        color=COLORS[k],
        capsize=2,
        markersize=6,
    )


def _point(axes: Axes, place: float, records: Records, k: int) -> None:
    values = [100 * record["test_accuracy"] for record in records]
    if values:
        axes.errorbar(
            place,
            fmean(values),
            yerr=spread(values),
            fmt=MARKS[k],
            color=COLORS[k],
            capsize=2,
            markersize=6,
        )


def _frame(axes: Axes, dataset: str, is_filled: bool) -> None:
    """Draw a panel's title, and a note if it has no runs of ours."""
    axes.set_title(dataset, fontsize=10)
    if not is_filled:
        place: dict[str, Any] = {"ha": "center", "va": "center", "color": "#555555"}
        axes.text(0.5, 0.5, "no runs yet", transform=axes.transAxes, **place)
