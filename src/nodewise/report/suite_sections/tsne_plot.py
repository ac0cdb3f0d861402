"""The figure of t-SNE: representations of several models, and all local weights of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from nodewise.report.scatter import legend, scatter, star
from nodewise.report.style import new_figure


def layouts(record: Mapping[str, Any]) -> Figure:
    """A panel for each model's representations, and one for the weights with the global W."""
    models, weights = record["representations"], record["weights"]
    figure, panels = new_figure(3.6 * (len(models) + 1), 4.2, len(models) + 1)
    for axes, (name, of_model) in zip(panels, models.items(), strict=False):
        scatter(axes, of_model["points"], record["labels"])
        axes.set_title(f"{name}: representations", fontsize=10)
    *points, middle = weights["points"]
    axes = panels[-1]
    scatter(axes, points, record["labels"])
    star(axes, middle)
    axes.set_title(f"{weights['model']}: all W_v, W as a star", fontsize=10)
    legend(figure, [name.replace("_", " ") for name in record["classes"]])
    return figure
