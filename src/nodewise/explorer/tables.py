"""The tables of the page: nodes, their classes, and the messages that a node receives."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dash import html

from nodewise.analysis.node import NodeAnalysis
from nodewise.explorer.explorer_data import ExplorerData, Numbers
from nodewise.explorer.words import CLASSES, COLUMNS, MEMBERS, ROWS, member_rows


def nodes(explored: ExplorerData, numbers: Numbers, what: str) -> list[Any]:
    """The classes of some nodes, and the first of them with a button each.

    Args:
        explored: Where to look.
        numbers: The nodes' numbers.
        what: What they are.
    """
    caption = f"{len(numbers):,} {what}"
    if len(numbers) > ROWS:
        caption += f"; the first {ROWS}, the most localized, are listed"
    classes = [[None, *row] for row in explored.by_class(numbers)]
    return [
        _table("classes", "Classes of these nodes", CLASSES, classes),
        _table("rows", caption, COLUMNS, explored.rows(numbers[:ROWS], COLUMNS)),
    ]


def members(explored: ExplorerData, found: NodeAnalysis) -> Any:
    """The messages that a node receives as a table, closed until it is asked for.

    Args:
        explored: Where to look.
        found: The node.
    """
    rows = [[explored.number(row[0]), *row] for row in member_rows(found)]
    summary = html.Summary(f"The messages of node {found.id} as a table")
    caption = "Those that the edge level changes most come first"
    return html.Details([summary, _table("rows", caption, MEMBERS, rows)])


def _table(
    name: str, caption: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]
) -> Any:
    """A table in a box that the keyboard can scroll; assets/tables.js fills it.

    Args:
        name: The class of the box.
        caption: What stands above the table.
        columns: The names of its columns.
        rows: Cells, and before them the number of a node that a button in the first one chooses.
    """
    data = {"caption": caption, "columns": list(columns.values()), "rows": rows}
    return html.Div(className=name, tabIndex=0, **{"data-table": json.dumps(data)})
