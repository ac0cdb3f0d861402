"""The page as one HTML file that opens from a disk: everything but the what-if."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any, Final

import numpy as np

from nodewise.explorer import maps, panels
from nodewise.explorer.app import ASSETS, need_dash
from nodewise.explorer.explored import Explored, Numbers
from nodewise.explorer.layout import COLUMNS, sampled, summary
from nodewise.explorer.state import SHOWN
from nodewise.io import replacing

DETAILS: Final = 300  # nodes whose details are in the file
_FILES: Final = Path(__file__).parent / "static_page"


def write_static(explored: Explored, name: str, path: Path, details: int = DETAILS) -> int:
    """Write the file; returns how many nodes have their details in it.

    Args:
        explored: What it shows.
        name: The run's name.
        path: The file.
        details: How many nodes get details at most; see `detailed`.

    Raises:
        InputError: plotly is not installed.
    """
    need_dash()
    from plotly.offline import get_plotlyjs

    chosen = detailed(explored, details)
    data = _json({**page_data(explored, chosen), "name": name})
    scripts = (get_plotlyjs(), (_FILES / "explorer.js").read_text("utf-8"))
    html = _fill(
        (_FILES / "page.html").read_text("utf-8"),
        POLICY=escape(_policy(scripts), quote=True),
        NAME=escape(name),
        SUMMARY=escape(summary(explored)),
        DETAILS=escape(_about(explored, len(chosen))),
        STYLE=(ASSETS / "explorer.css").read_text("utf-8"),
        DATA=data,
        PLOTLY=scripts[0],
        SCRIPT=scripts[1],
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(html.encode())
    return len(chosen)


def detailed(explored: Explored, count: int) -> Numbers:
    """The nodes whose details the file has: of the spoiled, the corrected and all nodes in turn.

    Of each kind the most localized come first.
    """
    kinds = [explored.chosen(show) for show in ("spoiled", "corrected", "all")]
    turns = np.full((len(kinds[-1]), len(kinds)), -1)
    for column, kind in enumerate(kinds):
        turns[: len(kind), column] = kind
    order = dict.fromkeys(turns.ravel().tolist())
    return np.array([node for node in order if node >= 0][:count], np.int64)


def page_data(explored: Explored, chosen: Numbers) -> dict[str, Any]:
    """What the file's script draws from."""
    return {
        "ids": explored.ids,
        "hover": explored.hover,
        "maps": explored.maps,
        "colorings": explored.colorings,
        "shown": SHOWN,
        "columns": list(COLUMNS.values()),
        "places": {key: np.round(of, 4).tolist() for key, of in explored.places.items()},
        "traces": {key: _skeletons(explored, key) for key in explored.colorings},
        "scenes": {key: _scene(explored, key) for key in explored.maps},
        "filters": {show: explored.drawn(show).tolist() for show in SHOWN},
        "sampled": {show: sampled(explored, show) for show in SHOWN},
        "rows": _rows(explored),
        "titles": panels.TITLES,
        "details": {explored.ids[i]: _details(explored, explored.ids[i]) for i in chosen},
    }


def _everywhere(explored: Explored) -> Numbers:
    """The nodes that any filter draws."""
    return np.unique(np.concatenate([explored.drawn(show) for show in SHOWN]))


def _skeletons(explored: Explored, color: str) -> list[maps.Trace]:
    return maps.colored(explored, color, _everywhere(explored))


def _scene(explored: Explored, key: str) -> dict[str, Any]:
    """The layout of a map, the mark of the global model, and the ring around a chosen node."""
    state, places = replace(explored.start, map=key), explored.places[key]
    labels = maps.class_labels(explored, places, explored.drawn("all"))
    return {
        "layout": maps.layout(key, labels),
        "marks": maps.global_model(explored, key),
        "chosen": maps.chosen(explored, state),
    }


def _rows(explored: Explored) -> dict[str, Any]:
    """The cells of the table by node, and the order of the nodes in it."""
    order = explored.chosen("all")
    listed = order[np.isin(order, _everywhere(explored))]
    cells = {number: cells for number, *cells in explored.rows(listed, COLUMNS)}
    return {"order": listed.tolist(), "cells": cells}


def _details(explored: Explored, id: str) -> dict[str, Any]:
    found = explored.node(id)
    drawn = panels.figures_of(found, explored.classes)
    notes = {key: panels.note(key, found) for key in drawn}
    return {
        "sentence": found.sentence,
        "facts": panels.of_node(found),
        "figures": drawn,
        "notes": notes,
    }


def _about(explored: Explored, count: int) -> str:
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


def _policy(scripts: tuple[str, ...]) -> str:
    """The Content-Security-Policy: only these scripts run, and nothing is loaded."""
    hashes = " ".join(f"'sha256-{_hash(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src 'unsafe-eval' {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _fill(template: str, **parts: str) -> str:
    """The template with its parts; what is in a part is not filled again."""
    pieces = template.split("%%")  # text, NAME, text, NAME, ..., text
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))
