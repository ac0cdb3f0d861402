"""The tables of the page: nodes, their classes, and the messages that a node receives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import html

from nodewise.analysis.node import NodeAnalysis
from nodewise.explorer.explored import Explored, Numbers
from nodewise.explorer.words import CLASSES, COLUMNS, MEMBERS, ROWS, member_rows


def nodes(explored: Explored, numbers: Numbers, what: str) -> list[Any]:
    """The classes of some nodes, and the first of them with a button each.

    Args:
        explored: Where to look.
        numbers: The nodes' numbers.
        what: What they are.
    """
    rows = explored.rows(numbers[:ROWS], COLUMNS)
    caption = f"{len(numbers):,} {what}"
    if len(numbers) > ROWS:
        caption += f"; the first {ROWS}, the most localized, are listed"
    cells = [[_button(id, number, "table"), *others] for number, id, *others in rows]
    return [
        _scrolled(_table("Classes of these nodes", CLASSES, explored.by_class(numbers)), "classes"),
        _scrolled(_table(caption, COLUMNS, cells), "rows"),
    ]


def members(explored: Explored, found: NodeAnalysis, place: str) -> Any:
    """The messages that a node receives as a table, closed until it is asked for.

    Args:
        explored: Where to look.
        found: The node.
        place: "node", or "other" for the node beside it.
    """
    cells = [
        [_button(id, explored.number(id), f"{place} {row}"), *others]  # an edge may be repeated
        for row, (id, *others) in enumerate(member_rows(found))
    ]
    summary = html.Summary(f"The messages of node {found.id} as a table")
    grid = _table("Those that the edge level changes most come first", MEMBERS, cells)
    return html.Details([summary, _scrolled(grid, "rows")])


def _button(id: str, number: int, place: str) -> Any:
    name = {"type": "pick", "node": number, "place": place}
    return html.Button(id, id=name, type="button")


def _table(caption: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> Any:
    head = html.Thead(html.Tr([html.Th(name, scope="col") for name in columns.values()]))
    body = html.Tbody([html.Tr([html.Td(cell) for cell in row]) for row in rows])
    return html.Table([html.Caption(caption), head, body])


def _scrolled(table: Any, name: str) -> Any:
    """A table in a box that the keyboard can scroll."""
    return html.Div(table, className=name, tabIndex=0)
