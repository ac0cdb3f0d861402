"""The page: its controls, the map, the table beside it, and places that callbacks fill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import dcc, html

from nodewise.experiments.plane import STAGES
from nodewise.explorer.background import TsneProgress
from nodewise.explorer.buttons import BUTTONS, MAP_BUTTONS
from nodewise.explorer.explorer_data import ExplorerData
from nodewise.explorer.state import LAYOUTS, SHOWN
from nodewise.explorer.words import HELP, summary


def page(explored: ExplorerData, name: str) -> Any:
    """The whole page.

    Args:
        explored: What it shows.
        name: The run's name.
    """
    return html.Main(
        [
            dcc.Location(id="url", refresh=False),
            *(dcc.Store(id=id) for id in ("state", "scene", "drawn", "stage", "picked")),
            dcc.Interval(id="tick", interval=1000, disabled=True),
            dcc.Download(id="download"),
            html.H1(["What localization did: ", html.Span(name)]),
            html.P(summary(explored)),
            _controls(explored),
            html.P(id="message", role="status"),
            html.Div([_map(), _table()], className="beside"),
            html.Div(id="node", className="nodes", **{"aria-live": "polite"}),
            _what_if(explored),
        ]
    )


def progress(found: TsneProgress) -> list[Any]:
    """The line that is shown while t-SNE lays out a map."""
    if found.failed:
        return [html.P("t-SNE ended early, perhaps for want of memory.")]
    if found.ended:
        return []
    shown = "principal axes are shown meanwhile" if not found.stage else "nodes still move"
    text = f"t-SNE: {found.stage} of {STAGES} stages are done; {shown}. "
    label = {"aria-label": "Progress of t-SNE"}
    return [html.P([text, html.Progress(value=str(found.stage), max=str(STAGES), **label)])]


def _controls(explored: ExplorerData) -> Any:
    return html.Div(
        [
            _choice("which", "Map of", explored.maps),
            _choice("laid", "Laid out by", LAYOUTS),
            _choice("color", "Color by", explored.colorings),
            _choice("show", "Show", SHOWN),
            _search("search", "Search a node by id"),
            _search("other", "Compare with"),
        ],
        className="controls",
        role="search",
    )


def _labeled(name: str, control: Any) -> Any:
    return html.Label([html.Span(name), control])


def _choice(id: str, name: str, choices: Mapping[str, str]) -> Any:
    options = [{"value": key, "label": text} for key, text in choices.items()]
    return _labeled(
        name,
        dcc.Dropdown(options, next(iter(choices)), id=id, clearable=False, searchable=False),
    )


def _search(id: str, name: str) -> Any:
    control = dcc.Input(id=id, type="text", debounce=True, placeholder="id, then Enter", value="")
    return _labeled(name, control)


def _map() -> Any:
    return html.Section(
        [
            html.Div(dcc.Graph("map", config=MAP_BUTTONS, responsive=True), className="map"),
            html.Div(id="progress", className="pale", role="status"),
            html.P(id="sampled", className="pale"),
            html.P(HELP, className="pale"),
            html.Button("Save the map as PNG", id="png", className="save", type="button"),
        ],
        **{"aria-label": "Map of the nodes"},
    )


def _table() -> Any:
    return html.Section(
        [
            html.Div(id="table"),
            html.Button("Save the table as CSV", id="csv", className="save", type="button"),
        ],
        **{"aria-label": "Table of nodes"},
    )


def _what_if(explored: ExplorerData) -> Any:
    levels = [{"value": level, "label": f"{level} level"} for level in explored.view.levels]
    return html.Section(
        [
            html.H2("What if"),
            html.Div(
                [
                    html.Fieldset(
                        [html.Legend("Switch off"), dcc.Checklist(levels, [], id="off")],
                    ),
                    _labeled("Drop the edges of", _several("drop", "neighbors")),
                    _labeled("Set to zero", _several("zero", "features")),
                ],
                className="controls",
            ),
            html.P(id="answer", role="status"),
            html.Div(dcc.Graph("after", config=BUTTONS, responsive=True), className="after"),
        ],
        id="what-if",
        hidden=True,
        **{"aria-label": "What if"},
    )


def _several(id: str, what: str) -> Any:
    return dcc.Dropdown([], [], id=id, multi=True, placeholder=what)
