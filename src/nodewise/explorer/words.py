"""The sentences and figures that the page shows of a node, as text, without its server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from nodewise.analysis.node import NodeAnalysis
from nodewise.explorer import figures
from nodewise.explorer.explorer_data import ExplorerData

ROWS: Final = 100  # of a table
COLUMNS: Final = {
    "id": "node",
    "label": "class",
    "prediction": "prediction",
    "without_global": "without",
    "confidence": "confidence",
    "degree": "degree",
    "distance": "strength",
}
CLASSES: Final = {
    "label": "class",
    "nodes": "nodes",
    "right": "right",
    "without": "without",
    "strength": "mean strength",
}
MEMBERS: Final = {
    "id": "node",
    "label": "class",
    "prediction": "prediction",
    "strength": "strength",
    "weight": "weight",
}
HELP: Final = (
    "Principal axes keep large distances, t-SNE keeps neighbors. Click a node, or draw a lasso "
    "around some: the table then lists these. Its buttons choose nodes by keyboard, too."
)
TITLES: Final = {
    "predictions": "Predictions, with levels switched off",
    "features": "Features whose evidence its weights change",
    "neighborhood": "The messages it receives",
}
LEGEND: Final = (
    "Solid and blue: the edge level strengthens the message; dotted and orange: it weakens it; "
    "gray: neither. The width is the strength."
)


def summary(explored: ExplorerData) -> str:
    """How many nodes there are, and how many predictions localization changed to right or wrong."""
    count, levels = explored.frame["effect"].value_counts(), explored.view.levels
    right, wrong = (int(count.get(name, 0)) for name in ("corrected", "spoiled"))
    said = f"{len(explored.ids):,} nodes. "
    if not levels:
        return said + "The model has no localization."
    return said + (
        f"Of those with a label, localization ({' and '.join(levels)} level) corrected {right:,} "
        f"predictions and spoiled {wrong:,}, compared with its global weights alone, which were "
        "not trained to be used alone."
    )


def sampled(explored: ExplorerData, show: str) -> str:
    """What the map leaves out; "" where it draws all nodes of the filter."""
    drawn, there = len(explored.drawn(show)), len(explored.chosen(show))
    return f"A random sample of {drawn:,} of {there:,} nodes is drawn." if drawn < there else ""


def of_node(found: NodeAnalysis) -> dict[str, str]:
    """The facts about a node, by name."""
    rank, similar = found.distance_rank, [str(each.id) for each in found.similar[:5]]
    return {
        "Class": found.label or "not known",
        "Part of the split": found.part or "none",
        "Degree": str(found.degree),
        "Neighbors of its class": "-" if found.homophily is None else f"{found.homophily:.0%}",
        "Place by strength": "-" if rank is None else f"{rank:,} of {found.num_nodes:,}",
        "Similar weights": ", ".join(similar) or "-",
    }


def figures_of(found: NodeAnalysis, classes: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The figures about a node, by their keys in `TITLES`."""
    drawn = {"predictions": figures.predictions(found), "features": figures.features(found)}
    if len(found.neighbors) > self_messages(found):
        drawn["neighborhood"] = figures.neighborhood(found, classes)
    return drawn


def self_messages(found: NodeAnalysis) -> int:
    """How often the node is a member of its own context."""
    return sum(str(each.id) == str(found.id) for each in found.neighbors)


def left_out(found: NodeAnalysis) -> str:
    """How many members of a context are not drawn; "" where all are."""
    there = len(found.neighbors) - self_messages(found)
    if there <= figures.NEIGHBORS:
        return ""
    return f" Drawn are {figures.NEIGHBORS} of {there:,}: those that it changes most."


def member_rows(found: NodeAnalysis) -> list[list[str]]:
    """The cells about members of a context, those first that the edge level changes most."""
    return [
        [
            str(each.id),
            each.label or "-",
            each.prediction,
            "undefined" if each.strength is None else f"{each.strength:.2f}",
            f"{each.weight:.3g}",
        ]
        for each in found.neighbors[:ROWS]
    ]


def note(key: str, found: NodeAnalysis) -> str:
    """The caption of a figure."""
    return LEGEND + left_out(found) if key == "neighborhood" else ""
