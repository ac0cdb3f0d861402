"""The paper's numbers, as printed."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def published() -> dict[str, Any]:
    """All tables: `main`, `val100` and `cost`, by model and data set, in its units."""
    path = files("nodewise.experiments") / "paper" / "published.toml"
    return tomllib.loads(path.read_text("utf-8"))


def printed_parameters(model: str, dataset: str) -> int | None:
    """The parameter count that the paper prints, rounded to thousands; it has those of Cora."""
    row = published()["main"].get(model, {})
    if dataset != "cora" or "parameters" not in row:
        return None
    return 1000 * int(row["parameters"].removesuffix("K"))
