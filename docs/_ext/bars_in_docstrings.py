"""Norms in docstrings: |W_v - W| is mathematics, not reStructuredText's substitution."""

from __future__ import annotations

import re
from typing import Any

_LITERAL = re.compile(r"(`[^`]*`)")


def escape_bars(text: str) -> str:
    """The text with every bar outside of backticks escaped."""
    parts = _LITERAL.split(text)
    return "".join(part if part.startswith("`") else part.replace("|", r"\|") for part in parts)


def _process(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = [escape_bars(line) for line in lines]


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True}
