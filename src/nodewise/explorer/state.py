"""The state of the page, as the query of its address, so that it can be shared and gone back to."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, fields, replace
from typing import Any, Final
from urllib.parse import parse_qs, urlencode

MAPS: Final = {"local": "local weights", "hidden": "representations"}
LAYOUTS: Final = {"pca": "principal axes", "tsne": "t-SNE"}
SHOWN: Final = {
    "all": "all nodes",
    "corrected": "nodes that localization corrected",
    "spoiled": "nodes that localization spoiled",
}
COLORINGS: Final = {
    "label": "class",
    "prediction": "prediction",
    "correct": "right or wrong",
    "effect": "what localization did",
    "confidence": "confidence",
    "degree": "degree",
    "distance": "strength of localization",
}
_LONGEST = 20_000  # letters of a query that are read


@dataclass(frozen=True)
class State:
    """The state of the page.

    Attributes:
        map: A key of `MAPS`.
        layout: A key of `LAYOUTS`.
        color: A key of `COLORINGS`.
        show: A key of `SHOWN`.
        node: The id of the chosen node, as text; "" for none.
        other: The id of the node beside it.
        off: The levels that are switched off in the what-if.
        drop: The ids of neighbors whose edges are dropped there.
        zero: The features that are zero there.
    """

    map: str = "local"
    layout: str = "pca"
    color: str = "label"
    show: str = "all"
    node: str = ""
    other: str = ""
    off: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    zero: tuple[str, ...] = ()

    @classmethod
    def parse(cls, query: str | None) -> State:
        """The state of a query; what is not known there is left at its default."""
        given = parse_qs((query or "")[:_LONGEST].removeprefix("?"))
        found: dict[str, Any] = {}
        for field in fields(cls):
            values = given.get(field.name, [])
            if isinstance(field.default, tuple):
                found[field.name] = tuple(values)
            elif values and _allowed(field.name, values[-1]):
                found[field.name] = values[-1]
        return cls(**found)

    def query(self) -> str:
        """The query of this state, "" for the default one."""
        changed = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }
        return f"?{urlencode(changed, doseq=True)}" if changed else ""

    def at(self, node: str) -> State:
        """The same with another node, as the graph is: without a what-if."""
        return replace(self, node=node, off=(), drop=(), zero=())


_KNOWN: Final[dict[str, Container[str]]] = {
    "map": MAPS,
    "layout": LAYOUTS,
    "color": COLORINGS,
    "show": SHOWN,
}


def _allowed(name: str, value: str) -> bool:
    return value in _KNOWN.get(name, (value,))
