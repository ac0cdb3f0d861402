"""One style for all plots: colors that the color-blind distinguish, and a mark for each."""

from __future__ import annotations

import io
import warnings
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from nodewise import colors

# A mark for each, so that color is never alone.
COLORS = (*colors.COLORS, "#000000")
MARKS = ("o", "s", "^", "D", "v", "P", "X")
_STYLE: dict[Any, Any] = {
    "font.size": 10,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "svg.hashsalt": "nodewise",
    "svg.fonttype": "none",
}


def new_figure(width: float, height: float, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure in inches with some axes side by side."""
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        return figure, [figure.add_subplot(1, columns, i + 1) for i in range(columns)]


def to_svg(figure: Figure) -> str:
    """The figure as an SVG element for a page."""
    stream = io.StringIO()
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        # Letters that our font lacks are measured badly here, but drawn by the browser's fonts.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(stream, format="svg", metadata={"Date": None})
    text = stream.getvalue()
    return text[text.index("<svg") :]


def to_png(figure: Figure) -> bytes:
    """The figure as a PNG file; equal figures give equal files."""
    stream = io.BytesIO()
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(stream, format="png", dpi=150, metadata={"Software": None})
    return stream.getvalue()


def short(name: str) -> str:
    """A name of at most 18 letters; dollars are escaped, since they would open a formula."""
    cut = name if len(name) <= 18 else f"{name[:17]}…"
    return cut.replace("$", r"\$")
