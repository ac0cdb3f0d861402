"""The map of all nodes, as a figure of plotly in plain dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from nodewise.explorer.density import NAME, density, spots
from nodewise.explorer.explorer_data import EFFECTS, ExplorerData, Numbers
from nodewise.explorer.palette import COLORS, GRAY, SCALE, color_and_mark, plain
from nodewise.explorer.state import COLORINGS, State

Trace = dict[str, Any]
CLEAR: Final = "rgba(0,0,0,0)"
MODEBAR: Final = {"bgcolor": CLEAR, "color": GRAY, "activecolor": COLORS[0]}
_MISSING = "no label"
_CORRECT = {True: "right", False: "wrong"}
# The column of a group's names, and those that come first; None for the classes.
_GROUPS: Final[dict[str, tuple[str, ...] | None]] = {
    "label": None,
    "prediction": None,
    "correct": ("right", "wrong", _MISSING),
    "effect": EFFECTS,
}
_OF_EFFECTS: Final = {"right": 2, "wrong": 4, "corrected": 2, "spoiled": 4, "right either way": 0}
RING: Final = "#FF1493"  # in no palette
_SMALL, _SMALLEST, _MARKED = 7, 4, 20
_MANY: Final = 5_000  # nodes that are drawn smallest: seen one by one, and painted faster


def map_figure(explored: ExplorerData, state: State) -> dict[str, Any]:
    """The map of a state: nodes in their colors, the global model, and the chosen nodes last."""
    drawn, places = explored.drawn(state.show), explored.places(state)
    traces = colored(explored, state.color, drawn)
    for trace in traces:
        trace |= placed(trace, places)
        trace["text"] = [explored.hover[i] for i in trace["customdata"]]
    traces += density(places[drawn])
    traces += [*global_model(explored, state), chosen(explored, state)]
    notes = class_labels(explored, places, drawn)
    stage = explored.background.stage(state.map) if state.layout == "tsne" else 0
    return {"data": traces, "layout": layout(f"{state.map}-{state.show}-{stage}", notes)}


def placed(trace: Trace, places: Any) -> Trace:
    """The coordinates of a trace's nodes."""
    x, y = places[trace["customdata"]].T if trace["customdata"] else ([], [])
    return {"x": np.round(x, 5).tolist(), "y": np.round(y, 5).tolist()}


def colored(explored: ExplorerData, color: str, drawn: Numbers) -> list[Trace]:
    """Traces without coordinates: one for each group of nodes, or one with a color scale."""
    size = _SMALL if len(explored.ids) <= _MANY else _SMALLEST
    make = _groups if color in _GROUPS else _scaled
    traces = make(explored, color, drawn)
    for trace in traces:
        trace["marker"]["size"] = size
    return traces


def _groups(explored: ExplorerData, color: str, drawn: Numbers) -> list[Trace]:
    names = _names(explored, color)[drawn]
    groups = [*(_GROUPS[color] or explored.classes)]
    groups += [name for name in (_MISSING,) if name in names and name not in groups]
    return [
        _group(name, number, drawn[names == name], color)
        for number, name in enumerate(groups)
        if (names == name).any()
    ]


def _names(explored: ExplorerData, color: str) -> Any:
    column = explored.frame[color]
    if color == "correct":
        column = column.map(_CORRECT)
    return column.astype(object).where(column.notna(), _MISSING).to_numpy()


def _group(name: str, number: int, nodes: Numbers, color: str) -> Trace:
    shade, mark = color_and_mark(number if _GROUPS[color] is None else _OF_EFFECTS.get(name, 6))
    if name == _MISSING:
        shade, mark = GRAY, "circle-open"
    return _trace(name, nodes, {"color": shade, "symbol": mark})


def _scaled(explored: ExplorerData, color: str, drawn: Numbers) -> list[Trace]:
    values = explored.frame[color].to_numpy(float)[drawn]
    title = COLORINGS[color]
    if color == "degree":
        values, title = np.log10(values + 1), "degree, log10(1 + d)"
    shades = [round(value, 4) if np.isfinite(value) else None for value in values.tolist()]
    bar = {"title": {"text": title, "side": "right"}, "thickness": 12, "outlinewidth": 0}
    edge = {"width": 1, "color": GRAY}  # the darkest nodes are seen on a dark page, too
    marker = {
        "color": shades,
        "colorscale": SCALE,
        "showscale": True,
        "colorbar": bar,
        "line": edge,
    }
    return [{**_trace(title, drawn, marker), "showlegend": False}]


def _trace(name: str, nodes: Numbers, marker: dict[str, Any]) -> Trace:
    return {
        "type": "scattergl",
        "mode": "markers",
        "name": plain(name, 24),
        "customdata": nodes.tolist(),
        "hoverinfo": "text",
        "marker": {"opacity": 0.8, **marker},
    }


def global_model(explored: ExplorerData, state: State) -> list[Trace]:
    """The mark of the global model among the local ones; nothing on another map."""
    if state.map != "local":
        return []
    x, y = explored.places(state)[-1].tolist()
    star = {
        "symbol": "star",
        "size": 18,
        "color": "#F0E442",
        "line": {"width": 1.5, "color": "#000"},
    }
    text = "the global model"
    return [_mark([x], [y], [text], star) | {"name": text, "showlegend": True}]


def chosen(explored: ExplorerData, state: State) -> Trace:
    """Rings around the chosen nodes, also those that the sample or the filter leaves out."""
    known = [name for name in (state.node, state.other) if name in explored.known]
    numbers = [explored.number(name) for name in known]
    x, y = explored.places(state)[numbers].T if numbers else ([], [])
    ring = {"symbol": "circle-open", "size": _MARKED, "color": RING, "line": {"width": 3}}
    texts = [explored.hover[i] for i in numbers]
    return _mark(list(map(float, x)), list(map(float, y)), texts, ring) | {"customdata": numbers}


def _mark(
    x: Sequence[float], y: Sequence[float], text: Sequence[str], marker: dict[str, Any]
) -> Trace:
    return {
        "type": "scattergl",  # another kind would be drawn below the nodes
        "mode": "markers",
        "x": x,
        "y": y,
        "text": text,
        "hoverinfo": "text",
        "showlegend": False,
        "marker": marker,
    }


def class_labels(explored: ExplorerData, places: Any, drawn: Numbers) -> list[dict[str, Any]]:
    """The names of the predicted classes, each where it is dense and denser than others."""
    classes = explored.frame["prediction"].to_numpy()[drawn]
    groups = {name: places[drawn[classes == name]] for name in explored.classes}
    there = {name: of for name, of in groups.items() if len(of)}
    found = spots(there, sorted(there, key=lambda name: -len(there[name]))) if there else {}
    return [
        {
            "x": x,
            "y": y,
            "text": f"<b>{plain(name, NAME)}</b>",
            "showarrow": False,
            "bgcolor": "rgba(255,255,255,.75)",
        }
        for name, (x, y) in found.items()
    ]


def layout(revision: str, notes: list[dict[str, Any]]) -> dict[str, Any]:
    """The layout of a map; zoom is kept while the revision stays."""
    axis = {"zeroline": False, "showticklabels": False, "ticks": ""}
    return {
        "xaxis": axis,
        "yaxis": axis,
        "annotations": notes,
        # Placed by the axes it would cover nodes of a narrow map.
        "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"}
        | {"itemsizing": "constant"},
        "margin": {"l": 10, "r": 10, "t": 30, "b": 10},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "hovermode": "closest",
        "dragmode": "lasso",
        "clickmode": "event",
        "uirevision": revision,
        "modebar": MODEBAR,
    }
