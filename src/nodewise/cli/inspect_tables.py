"""The tables of `nodewise inspect`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from nodewise.cli.tables import print_table

if TYPE_CHECKING:
    import pandas as pd

    from nodewise.analysis.clusters import Clusters
    from nodewise.analysis.graph import GraphAnalysis
    from nodewise.analysis.node import NodeAnalysis

_CUT = 40  # a name in a table; descriptions can be long
_WORDS = 6  # features that characterize a group
_LEVELS = {"global": "no level", "node": "node level", "edge": "edge level"}


def print_node(node: NodeAnalysis, top: int, quiet: bool) -> None:
    """Print the analysis of a node.

    Args:
        node: The analysis.
        top: How many rows a table has.
        quiet: Whether to leave the paragraph out.
    """
    if not quiet:
        typer.echo(f"{node.sentence}\n")
    _predictions(node)
    _table(
        "feature",
        ("global", "local", "", "members"),
        [
            (
                _short(each.name),
                f"{each.global_evidence:.3g}",
                f"{each.local_evidence:.3g}",
                each.change,
                str(each.members),
            )
            for each in node.features[:top]
        ],
    )
    _table(
        "neighbor",
        ("strength", "both levels", "weight", "label", "prediction"),
        [
            (
                str(each.id),
                _number(each.strength),
                _number(each.ratio),
                f"{each.weight:.3g}",
                each.label or "-",
                each.prediction,
            )
            for each in node.neighbors[:top]
        ],
    )
    _table(
        "similar weights",
        ("cosine", "label", "prediction"),
        [
            (str(each.id), f"{each.cosine:.3f}", each.label or "-", each.prediction)
            for each in node.similar[:top]
        ],
    )


def _predictions(node: NodeAnalysis) -> None:
    """The predictions with fewer levels, and the probabilities of their classes."""
    rows = [("all levels", node.prediction, node.probabilities)] + [
        (name, node.without_localization[key], node.probabilities_without[key])
        for key, name in _LEVELS.items()
    ]
    cells = [(name, found, f"{chances[found]:.3f}") for name, found, chances in rows]
    _table("with", ("prediction", "probability"), cells)


def print_graph(graph: GraphAnalysis, top: int) -> None:
    """Print the analysis of a graph.

    Args:
        graph: The analysis.
        top: How many rows a table has.
    """
    _table(
        "nodes",
        ("number", "accuracy %", "without %", "corrected", "spoiled"),
        [
            (
                part,
                str(c.nodes),
                f"{100 * c.accuracy:.1f}",
                f"{100 * c.accuracy_without:.1f}",
                str(c.corrected),
                str(c.spoiled),
            )
            for part, c in graph.counts.items()
        ],
    )
    _changed("corrected", graph.corrected, top)
    _changed("spoiled", graph.spoiled, top)
    if graph.most_localized is None:
        typer.echo("nothing is localized at nodes, so there are no local weights to compare")
        return
    _most_localized(graph.most_localized, top)
    _groups(graph)
    if graph.clusters is not None:
        _clusters(graph.clusters)


def _most_localized(nodes: pd.DataFrame, top: int) -> None:
    """Print the nodes whose weights differ most from the global ones."""
    _table(
        "most localized",
        ("distance", "degree", "homophily", "label", "prediction"),
        [
            (
                str(row.id),
                f"{row.distance:.3g}",
                str(row.degree),
                _number(row.homophily),
                row.label if isinstance(row.label, str) else "-",
                row.prediction,
            )
            for row in nodes.head(top).itertuples()
        ],
    )


def _groups(graph: GraphAnalysis) -> None:
    """Print the distances of groups of nodes, and what they go with."""
    _table(
        "mean distance",
        ("nodes", "mean", "median"),
        [
            (_short(each.group), str(each.nodes), f"{each.mean:.3g}", f"{each.median:.3g}")
            for each in graph.groups
        ],
    )
    _table(
        "distance goes with",
        ("rank correlation",),
        [(name, f"{value:.2f}") for name, value in graph.correlations.items()],
    )


def _changed(first: str, nodes: pd.DataFrame, top: int) -> None:
    """Print nodes that localization changed to right or wrong, the most certain first."""
    rows = nodes.sort_values("confidence", ascending=False, kind="stable").head(top)
    _table(
        first,
        ("label", "prediction", "without", "confidence"),
        [
            (str(row.id), row.label, row.prediction, row.without_global, f"{row.confidence:.2f}")
            for row in rows.itertuples()
        ],
    )


def _clusters(clusters: Clusters) -> None:
    """Groups of nodes with similar weights; the words that their contexts share."""
    for number, each in enumerate(clusters.clusters, 1):
        words = ", ".join(_short(name) for name, _ in each.features[:_WORDS]) or "-"
        about = f"{each.nodes} nodes, mean distance {each.distance:.3g}"
        typer.echo(f"similar weights {number}: {about}; their contexts have more: {words}")


def _table(first: str, others: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    from rich.markup import escape

    if rows:
        print_table((first, *others), [[escape(cell) for cell in row] for row in rows])
        typer.echo("")


def _short(name: str) -> str:
    return name if len(name) <= _CUT else f"{name[: _CUT - 3]}..."


def _number(value: float | None) -> str:
    """A number with two digits; a dash where there is none."""
    return "-" if value is None or value != value else f"{value:.2f}"
