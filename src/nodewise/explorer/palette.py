"""Colors that the color-blind distinguish, a mark for each, and text that plotly shows as it is."""

from __future__ import annotations

from html import escape
from typing import Final

from nodewise import colors

COLORS: Final = (*colors.COLORS, "#888888")  # gray is seen on dark pages, too; black is not
MARKS: Final = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x")
GRAY: Final = "#888888"
SCALE: Final = "Cividis"


def color_and_mark(number: int) -> tuple[str, str]:
    """The color and the mark of a class; 49 classes differ in one of them."""
    turn, color = divmod(number, len(COLORS))
    return COLORS[color], MARKS[(color + turn) % len(MARKS)]


def plain(text: object, length: int = 60) -> str:
    """Text for plotly, which takes tags for markup: escaped, in one line, and cut."""
    line = " ".join(str(text).split())
    return escape(line if len(line) <= length else f"{line[: length - 1]}…", quote=False)
