"""Differences of pairs of models, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nodewise.report.style import COLORS, MARKS, new_figure
from nodewise.report.suite_sections.marks import entry, hollow, legend
from nodewise.report.suite_sections.paired import Difference


def differences(
    of_rows: Mapping[str, Mapping[str, Difference]], printed: Mapping[str, float]
) -> Figure:
    """One model minus another, with 95 % intervals: a row for each comparison.

    Args:
        of_rows: Differences by row and by way of comparing.
        printed: The paper's differences by row.
    """
    figure, (axes,) = new_figure(7.6, 1.4 + 0.5 * len(of_rows))
    axes.axvline(0, color="#666666", linewidth=1)
    axes.set_xlim(*_limits(of_rows, printed))
    ways = list(dict.fromkeys(way for of_row in of_rows.values() for way in of_row))
    for i, (row, of_row) in enumerate(of_rows.items()):
        for way, found in of_row.items():
            k = ways.index(way)
            _interval(axes, i + 0.32 * (k - (len(ways) - 1) / 2), found, k)
        if row in printed:
            hollow(axes, 100 * printed[row], i, 3)
    axes.set_yticks(range(len(of_rows)), list(of_rows))
    axes.set_ylim(len(of_rows) - 0.5, -0.5)
    axes.set_xlabel("difference in test accuracy, points")
    entries = [entry(way, k) for k, way in enumerate(ways)]
    papers = [entry("paper: model minus base model", 3, hollow=True)] if printed else []
    legend(figure, [*entries, *papers])
    return figure


def _limits(
    of_rows: Mapping[str, Mapping[str, Difference]], printed: Mapping[str, float]
) -> tuple[float, float]:
    """Limits of the axis: all differences and intervals, except the wide ones of few pairs."""
    found = [one for of_row in of_rows.values() for one in of_row.values()]
    ends = [end for one in found if one.pairs > 3 for end in (one.low, one.high)]
    seen = [0.0, *ends, *printed.values(), *(gap for one in found for gap in one.gaps)]
    margin = 0.05 * (max(seen) - min(seen)) + 0.001
    return 100 * (min(seen) - margin), 100 * (max(seen) + margin)


def _interval(axes: Axes, height: float, found: Difference, k: int) -> None:
    """Draw interval, mean and seeds, and an arrow where the interval exceeds the axis."""
    color, low, high = COLORS[k], 100 * found.low, 100 * found.high
    axes.plot([low, high], [height, height], color=color, linewidth=2.5, solid_capstyle="butt")
    left, right = axes.get_xlim()
    for end, mark, is_out in ((left, "<", low < left), (right, ">", high > right)):
        if is_out:
            axes.plot(end, height, mark, color=color, markersize=7, clip_on=False)
    axes.plot(100 * found.mean, height, MARKS[k], color=color, markersize=7)
    gaps = [100 * gap for gap in found.gaps]
    axes.plot(gaps, [height + 0.14] * len(gaps), ".", color=color, mew=0, alpha=0.6, markersize=5)
