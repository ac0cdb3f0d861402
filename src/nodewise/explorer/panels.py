"""What the page says of a node, and the table of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dash import dcc, html

from nodewise.analysis.node import NodeAnalysis
from nodewise.explorer import figures
from nodewise.explorer.explored import Explored, Numbers
from nodewise.explorer.layout import BUTTONS, COLUMNS

ROWS: Final = 100
TITLES: Final = {
    "predictions": "Predictions, with levels switched off",
    "features": "Features whose evidence its weights change",
    "neighborhood": "The messages it receives",
}
LEGEND: Final = (
    "Solid and blue: the edge level strengthens the message; dotted and orange: it weakens it; "
    "gray: neither. The width is the strength."
)


def of_node(found: NodeAnalysis) -> dict[str, str]:
    """What is known of a node, by name."""
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
    if len(found.neighbors) > cut(found):
        drawn["neighborhood"] = figures.neighborhood(found, classes)
    return drawn


def cut(found: NodeAnalysis) -> int:
    """How often the node is a member of its own context."""
    return sum(str(each.id) == str(found.id) for each in found.neighbors)


def left_out(found: NodeAnalysis) -> str:
    """How many members of a context are not drawn; "" where all are."""
    there = len(found.neighbors) - cut(found)
    if there <= figures.NEIGHBORS:
        return ""
    return f" Drawn are {figures.NEIGHBORS} of {there:,}: those that it changes most."


def panel(explored: Explored, id: str, place: str) -> Any:
    """All that is said of a node.

    Args:
        explored: Where to look.
        id: The node's id.
        place: "node", or "other" for the node beside it.
    """
    found = explored.node(id)
    drawn = figures_of(found, explored.classes)
    parts = [_figure(key, figure, place, note(key, found)) for key, figure in drawn.items()]
    facts = [html.Div([html.Dt(name), html.Dd(text)]) for name, text in of_node(found).items()]
    return html.Section(
        [
            html.H2(f"Node {id}"),
            html.P(found.sentence),
            html.Dl(facts),
            html.Div(parts, className="figures"),
        ],
        **{"aria-label": f"Node {id}"},
    )


def note(key: str, found: NodeAnalysis) -> str:
    """What stands below a figure."""
    return LEGEND + left_out(found) if key == "neighborhood" else ""


def _figure(key: str, figure: dict[str, Any], place: str, note: str) -> Any:
    height = {"height": f"{figure['layout']['height']}px"}
    name = {"type": key, "place": place}
    graph = dcc.Graph(id=name, figure=figure, config=BUTTONS, responsive=True, style=height)
    return html.Figure([html.Figcaption(TITLES[key]), graph, html.P(note, className="pale")])


def table(explored: Explored, numbers: Numbers, what: str) -> list[Any]:
    """The first rows of a table of nodes, with a button for each.

    Args:
        explored: Where to look.
        numbers: The nodes' numbers.
        what: What they are.
    """
    rows = explored.rows(numbers[:ROWS], COLUMNS)
    head = html.Thead(html.Tr([html.Th(name, scope="col") for name in COLUMNS.values()]))
    caption = f"{len(numbers):,} {what}"
    if len(numbers) > ROWS:
        caption += f"; the first {ROWS}, the most localized, are listed"
    body = html.Tbody([html.Tr(_cells(row)) for row in rows])
    grid = html.Table([html.Caption(caption), head, body])
    return [html.Div(grid, className="rows", tabIndex=0)]


def _cells(row: list[Any]) -> list[Any]:
    number, id, *others = row
    button = html.Button(id, id={"type": "pick", "node": number}, type="button")
    return [html.Td(button), *(html.Td(cell) for cell in others)]
