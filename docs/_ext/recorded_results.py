"""The directive `recorded-results SUITE`: a suite as far as results/ has records of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from docutils.nodes import Node
from sphinx.util.docutils import SphinxDirective

from nodewise.report.results_page import markdown_section
from nodewise.report.sections import read_section
from nodewise.report.style import to_png

RESULTS = Path(__file__).parents[2] / "results"
PLOTS = "_generated"


class RecordedResults(SphinxDirective):
    """Puts tables and plot where it stands."""

    required_arguments: ClassVar[int] = 1

    def run(self) -> list[Node]:
        """Tables and plot as nodes of the page."""
        section = read_section(RESULTS, self.arguments[0])
        text = markdown_section(section)
        if section.figure is not None:
            path = Path(self.env.srcdir) / PLOTS / f"{section.suite.name}.png"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(to_png(section.figure))
            text += f"\n\n![{section.caption}](/{PLOTS}/{path.name})\n\n{section.caption}"
        return self.parse_text_to_nodes(text)


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("recorded-results", RecordedResults)
    return {"parallel_read_safe": True}
