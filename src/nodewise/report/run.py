"""A run's page, or that of several: what to make of it, scores, classes, learning, predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nodewise._version import __version__
from nodewise.io import writing
from nodewise.report.page import Page
from nodewise.report.run_sections.calibration import add_calibration
from nodewise.report.run_sections.classes import add_classes
from nodewise.report.run_sections.conclusions import add_words
from nodewise.report.run_sections.learning import add_learning
from nodewise.report.run_sections.localization import add_localization
from nodewise.report.run_sections.predictions import add_predictions
from nodewise.report.run_sections.records import RunGroup
from nodewise.report.run_sections.scores import add_scores
from nodewise.report.run_sections.selection import add_selection

REPORT = "report.html"


def write_report(path: Path, folders: Sequence[Path]) -> None:
    """Write the page of some runs of one model on one graph.

    Args:
        path: Where to.
        folders: The runs, finished.

    Raises:
        RunError: A record cannot be read, or the page not written.
    """
    group = RunGroup.of(folders, path.parent)
    page = Page(f"{group.config['model']} on {_graph_name(group.config['graph'])}")
    page.paragraph(_about(group))
    add_words(page, group)
    add_scores(page, group)
    if group.choice is not None:
        add_selection(page, group.choice)
    add_classes(page, group)
    add_calibration(page, group)
    add_predictions(page, group, path.parent)
    add_learning(page, group)
    add_localization(page, group)
    with writing(path):
        page.write(path, f"nodewise {__version__}; every number is read from the runs' records.")


def _graph_name(graph: Mapping[str, Any]) -> str:
    files = graph.get("files", {})
    return str(graph.get("dataset") or " and ".join(files.values()) or "a graph")


def _about(group: RunGroup) -> str:
    """The sizes of graph and model, and how long it was trained."""
    graph, settings, best = group.config["graph"], group.settings, group.best.result
    trained = f"epoch {best['best_epoch']} of {best['epochs']} was kept"
    if "refit_epochs" in best:
        trained = f"trained on training and validation nodes for {best['refit_epochs']} epochs"
    seeds = f"{len(group.runs)} runs" if len(group.runs) > 1 else trained
    return (
        f"{graph['nodes']:,} nodes, {graph['features']:,} features, {len(graph['classes'])} "
        f"classes; recipe {group.config['recipe']}, {settings['num_layers']} layers, "
        f"{settings['hidden_channels']} wide; {best['parameters']:,} parameters; {seeds}, "
        f"{group.summary['seconds']:.1f} seconds of training."
    )
