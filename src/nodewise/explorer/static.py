"""The page as one HTML file that opens from a disk: everything but the what-if."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import numpy as np

from nodewise import colors
from nodewise.explorer import maps, words
from nodewise.explorer.buttons import BUTTONS, MAP_BUTTONS
from nodewise.explorer.density import density
from nodewise.explorer.explorer_data import ExplorerData, Numbers
from nodewise.explorer.state import LAYOUTS, SHOWN, State
from nodewise.io import replacing

DETAILS: Final = 300  # nodes whose details are in the file
_ASSETS: Final = Path(__file__).parent / "assets"
_FILES: Final = Path(__file__).parent / "static_page"


def write_static(
    explored: ExplorerData,
    name: str,
    path: Path,
    details: int = DETAILS,
    layouts: Sequence[str] = ("pca",),
) -> int:
    """Write the file; returns how many nodes have their details in it.

    Args:
        explored: What it shows.
        name: The run's name.
        path: The file.
        details: How many nodes get details at most; see `detailed`.
        layouts: Keys of `LAYOUTS`; t-SNE has to be there already, see `Background.finish`.
    """
    chosen = detailed(explored, details)
    scripts = [
        _asset("plotly.min.js"),
        _asset("save.js"),
        (_FILES / "explorer.js").read_text("utf-8"),
    ]
    html = _fill(
        (_FILES / "page.html").read_text("utf-8"),
        POLICY=escape(_policy(scripts), quote=True),
        NAME=escape(name),
        SUMMARY=escape(words.summary(explored)),
        DETAILS=escape(_about(explored, len(chosen))),
        HELP=escape(words.HELP),
        STYLE=colors.CSS + _asset("explorer.css"),
        DATA=_json(page_data(explored, chosen, layouts)),
        PLOTLY=scripts[0],
        SAVE=scripts[1],
        SCRIPT=scripts[2],
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(html.encode())
    return len(chosen)


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text("utf-8")


def detailed(explored: ExplorerData, count: int) -> Numbers:
    """The nodes whose details the file has: of the spoiled, the corrected and all nodes in turn.

    Of each kind the most localized come first.
    """
    kinds = [explored.chosen(show) for show in ("spoiled", "corrected", "all")]
    turns = np.full((len(kinds[-1]), len(kinds)), -1)
    for column, kind in enumerate(kinds):
        turns[: len(kind), column] = kind
    order = dict.fromkeys(turns.ravel().tolist())
    return np.array([node for node in order if node >= 0][:count], np.int64)


def page_data(explored: ExplorerData, chosen: Numbers, layouts: Sequence[str]) -> dict[str, Any]:
    """The data that the script of the file draws."""
    scenes = {f"{key} {layout}": State(key, layout) for key in explored.maps for layout in layouts}
    return {
        "ids": explored.ids,
        "hover": explored.hover,
        "maps": explored.maps,
        "layouts": {key: LAYOUTS[key] for key in layouts},
        "colorings": explored.colorings,
        "shown": SHOWN,
        "columns": list(words.COLUMNS.values()),
        "classColumns": list(words.CLASSES.values()),
        "memberColumns": list(words.MEMBERS.values()),
        "tableRows": words.ROWS,
        "traces": {key: _skeletons(explored, key) for key in explored.colorings},
        "scenes": {key: _scene(explored, state) for key, state in scenes.items()},
        "filters": {show: explored.drawn(show).tolist() for show in SHOWN},
        "sampled": {show: words.sampled(explored, show) for show in SHOWN},
        "rows": _rows(explored),
        "titles": words.TITLES,
        "buttons": BUTTONS,
        "mapButtons": MAP_BUTTONS,
        "details": {explored.ids[i]: _details(explored, explored.ids[i]) for i in chosen},
    }


def _everywhere(explored: ExplorerData) -> Numbers:
    """The nodes that any filter draws."""
    return np.unique(np.concatenate([explored.drawn(show) for show in SHOWN]))


def _skeletons(explored: ExplorerData, color: str) -> list[maps.Trace]:
    return maps.colored(explored, color, _everywhere(explored))


def _scene(explored: ExplorerData, state: State) -> dict[str, Any]:
    """A map: the places of nodes and names, the density, and the mark of the global model."""
    places, drawn = explored.places(state), {show: explored.drawn(show) for show in SHOWN}
    return {
        "places": np.round(places, 4).tolist(),
        "layout": maps.layout(f"{state.map} {state.layout}", []),
        "labels": {k: maps.class_labels(explored, places, of) for k, of in drawn.items()},
        "density": {k: density(places[of]) for k, of in drawn.items()},
        "marks": maps.global_model(explored, state),
        "chosen": maps.chosen(explored, state),
    }


def _rows(explored: ExplorerData) -> dict[str, Any]:
    """The cells of the table by node, and the order of the nodes in it."""
    order = explored.chosen("all")
    listed = order[np.isin(order, _everywhere(explored))]
    cells = {number: cells for number, *cells in explored.rows(listed, words.COLUMNS)}
    return {"order": listed.tolist(), "cells": cells}


def _details(explored: ExplorerData, id: str) -> dict[str, Any]:
    found = explored.node(id)
    drawn = words.figures_of(found, explored.classes)
    notes = {key: words.note(key, found) for key in drawn}
    return {
        "sentence": found.sentence,
        "facts": words.of_node(found),
        "figures": drawn,
        "notes": notes,
        "members": words.member_rows(found),
    }


def _about(explored: ExplorerData, count: int) -> str:
    """Which nodes have details, as a sentence."""
    if count == len(explored.ids):
        return "Every node has its details here."
    return (
        f"{count:,} of {len(explored.ids):,} nodes have their details here: the most localized, "
        "and the most localized of those that localization corrected or spoiled."
    )


def _json(data: Any) -> str:
    """JSON that can stand in a script element: no name in it can end that element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _policy(scripts: Sequence[str]) -> str:
    """The Content-Security-Policy: only these scripts run, and nothing is loaded."""
    hashes = " ".join(f"'sha256-{_hash(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _fill(template: str, **parts: str) -> str:
    """The template with its parts; what is in a part is not filled again."""
    pieces = template.split("%%")  # text, NAME, text, NAME, ..., text
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))
