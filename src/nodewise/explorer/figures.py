"""The figures about one node: its neighborhood, its features, its predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import cos, log2, pi, sin
from typing import Any, Final

from nodewise.analysis.features import Feature
from nodewise.analysis.neighbors import Neighbor
from nodewise.analysis.node import NodeAnalysis
from nodewise.analysis.what_if import WhatIf
from nodewise.explorer.maps import CLEAR, MODEBAR
from nodewise.explorer.palette import COLORS, GRAY, color_and_mark, plain

Figure = dict[str, Any]
NEIGHBORS: Final = 30
FEATURES: Final = 12
CLASSES: Final = 8
_STRONGER, _WEAKER = COLORS[0], COLORS[4]
_ARROWS = {"up": "▲", "down": "▼", "flipped": "⇄", "same": "="}
_SERIES: Final = {
    "all": ("as it is", COLORS[0]),
    "edge": ("edge level alone", COLORS[5]),
    "node": ("node level alone", COLORS[2]),
    "global": ("without localization", GRAY),
}
# Levels of a model, and the predictions worth a bar: with one level, that alone is all there is.
_SHOWN: Final = {2: ("all", "edge", "node", "global"), 1: ("all", "global"), 0: ("all",)}


def neighborhood(node: NodeAnalysis, classes: Sequence[str]) -> Figure:
    """The node in the middle, the members of its context around it, strong messages thick."""
    members = [each for each in node.neighbors if str(each.id) != str(node.id)][:NEIGHBORS]
    angles = [2 * pi * i / max(1, len(members)) + pi / 2 for i in range(len(members))]
    at = [(cos(angle), sin(angle)) for angle in angles]
    looks = [color_and_mark(classes.index(each.prediction)) for each in members]
    around = _points(at, looks, 12) | {
        "text": [plain(each.id, 12) for each in members],
        "hovertext": [_about(each) for each in members],
        "customdata": [str(each.id) for each in members],
        "textposition": ["top center" if y >= 0 else "bottom center" for _, y in at],
    }
    middle = _points([(0.0, 0.0)], [color_and_mark(classes.index(node.prediction))], 22)
    middle |= {"text": [f"<b>{plain(node.id, 12)}</b>"], "textposition": "bottom center"}
    middle |= {"hovertext": [plain(f"{node.id}: {node.prediction}")]}
    axis = {"visible": False, "range": [-1.45, 1.45], "fixedrange": True}
    lines = [_line(place, each) for place, each in zip(at, members, strict=True)]
    return {
        "data": [around, middle],
        "layout": _layout(320) | {"xaxis": axis, "yaxis": axis, "shapes": lines},
    }


def _points(
    at: Sequence[tuple[float, float]], looks: Sequence[tuple[str, str]], size: int
) -> dict[str, Any]:
    marker = {"size": size, "color": [c for c, _ in looks], "symbol": [m for _, m in looks]}
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [round(x, 3) for x, _ in at],
        "y": [round(y, 3) for _, y in at],
        "hoverinfo": "text",
        "showlegend": False,
        "cliponaxis": False,
        "textfont": {"size": 10},
        "marker": marker | {"line": {"width": 1, "color": "#fff"}},
    }


def _line(end: tuple[float, float], member: Neighbor) -> dict[str, Any]:
    """The edge of a member: blue and thick where the edge level strengthens its message."""
    change = 0.0 if not member.strength else log2(member.strength)
    color = GRAY if abs(change) < 0.07 else _STRONGER if change > 0 else _WEAKER
    width = round(min(9.0, max(0.6, 2.5 + 1.8 * change)), 1)
    line = {"color": color, "width": width, "dash": "dot" if color == _WEAKER else "solid"}
    ends = {"x0": 0, "y0": 0, "x1": round(end[0], 3), "y1": round(end[1], 3)}
    return {"type": "line", "layer": "below", "line": line, **ends}


def _about(member: Neighbor) -> str:
    strength = "undefined" if member.strength is None else f"{member.strength:.2f}"
    return f"{plain(member.id)}: {plain(member.prediction)}, strength {strength}"


def features(node: NodeAnalysis) -> Figure:
    """The evidence of features for the prediction, to W and to W_v: what changes most, on top."""
    top = node.features[:FEATURES]
    names = [f"{plain(each.name, 20)} {_ARROWS[each.change]}" for each in top]
    rows = {
        "own weights": ([each.local_evidence for each in top], COLORS[0]),
        "global weights": ([each.global_evidence for each in top], GRAY),
    }
    hover = [_evidence(each) for each in top]
    return _bars(names, rows, hover, "evidence for the prediction")


def _evidence(feature: Feature) -> str:
    name, before, after = plain(feature.name), feature.global_evidence, feature.local_evidence
    return f"{name}: {before:.3g} to the global weights, {after:.3g} to its own ({feature.change})"


def predictions(node: NodeAnalysis) -> Figure:
    """The probability of each class, as the model is and with levels switched off."""
    chances = {"all": node.probabilities, **node.probabilities_without}
    shown = {_SERIES[key]: chances[key] for key in _SHOWN[len(node.levels)]}
    return _probabilities(shown)


def before_and_after(found: WhatIf) -> Figure:
    """The probability of each class before and after a change."""
    rows = {
        ("what if", COLORS[4]): found.probabilities_after,
        ("as it is", COLORS[0]): found.probabilities_before,
    }
    return _probabilities(rows)


def _probabilities(rows: Mapping[tuple[str, str], Mapping[str, float]]) -> Figure:
    highest: dict[str, float] = {}
    for chances in rows.values():
        highest = {name: max(chance, highest.get(name, 0.0)) for name, chance in chances.items()}
    classes = sorted(highest, key=lambda name: -highest[name])[:CLASSES]
    bars = {name: ([of[each] for each in classes], color) for (name, color), of in rows.items()}
    figure = _bars([plain(name, 20) for name in classes], bars, None, "probability")
    figure["layout"]["xaxis"] |= {"range": [0, 1.02]}
    return figure


def _bars(
    names: Sequence[str],
    rows: Mapping[str, tuple[Sequence[float], str]],
    hover: Sequence[str] | None,
    title: str,
) -> Figure:
    """Horizontal bars, the first name on top; the last of `rows` is lowest in the legend."""
    places = list(range(len(names)))
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "x": [round(value, 5) for value in values],
            "y": places,
            "text": hover or [f"{each}: {v:.2f}" for each, v in zip(names, values, strict=True)],
            "textposition": "none",
            "hoverinfo": "text+name",
            "marker": {"color": color},
        }
        for name, (values, color) in reversed(list(rows.items()))
    ]
    ticks = {
        "tickvals": places,
        "ticktext": list(names),
        "autorange": "reversed",
        "zeroline": False,
    }
    axis = {"automargin": True, "fixedrange": True}
    height = 110 + len(names) * max(24, 11 * len(rows))
    return {
        "data": data,
        "layout": _layout(height)
        | {"yaxis": axis | ticks, "xaxis": axis | {"title": {"text": title}}, "barmode": "group"},
    }


def _layout(height: int) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 10, "r": 10, "t": 30, "b": 40},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom", "traceorder": "normal"},
        "hovermode": "closest",
        "dragmode": False,
        "bargap": 0.25,
        "modebar": MODEBAR,
    }
