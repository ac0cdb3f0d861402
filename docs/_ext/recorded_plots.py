"""Plots of the records: `<!-- plot: SUITE -->` on a page becomes a picture when the site is built.

Plots are not kept in the repository: their bytes differ between versions of Matplotlib.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from nodewise.report.style import to_png
from nodewise.report.suite_sections.sections import read_section

RESULTS = Path(__file__).parents[2] / "results"
PLOTS = "_generated"
_PLACE = re.compile(r"<!-- plot: (\w+) -->")


def picture(name: str, folder: Path) -> str:
    """Draw a suite's plot, and return the Markdown that shows it."""
    section = read_section(RESULTS, name)
    if section.figure is None:
        return ""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.png").write_bytes(to_png(section.figure))
    return f"![{section.caption}](/{PLOTS}/{name}.png)\n\n{section.caption}"


def _read(app: Any, page: str, source: list[str]) -> None:
    folder = Path(app.srcdir) / PLOTS
    source[0] = _PLACE.sub(lambda place: picture(place[1], folder), source[0])


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True}
