"""The tables and sentences about a node."""

from __future__ import annotations

from typing import Any

from dash import dcc, html

from nodewise.explorer import words
from nodewise.explorer.buttons import BUTTONS
from nodewise.explorer.explorer_data import ExplorerData
from nodewise.explorer.tables import members


def panel(explored: ExplorerData, id: str, place: str) -> Any:
    """All that is said of a node.

    Args:
        explored: Where to look.
        id: The node's id.
        place: "node", or "other" for the node beside it.
    """
    found = explored.node(id)
    drawn = words.figures_of(found, explored.classes)
    parts = [_figure(key, figure, place, words.note(key, found)) for key, figure in drawn.items()]
    facts = [
        html.Div([html.Dt(name), html.Dd(text)]) for name, text in words.of_node(found).items()
    ]
    return html.Section(
        [
            html.H2(f"Node {id}"),
            html.P(found.sentence),
            html.Dl(facts),
            html.Div(parts, className="figures"),
            members(explored, found),
        ],
        **{"aria-label": f"Node {id}"},
    )


def _figure(key: str, figure: dict[str, Any], place: str, note: str) -> Any:
    height = {"height": f"{figure['layout']['height']}px"}
    name = {"id": {"type": key, "place": place}} if key == "neighborhood" else {}
    graph = dcc.Graph(figure=figure, config=BUTTONS, responsive=True, style=height, **name)
    return html.Figure([html.Figcaption(words.TITLES[key]), graph, html.P(note, className="pale")])
