"""The directive `recorded-results`: the paper's main table as far as results/ has records of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils.nodes import Node
from sphinx.util.docutils import SphinxDirective

from nodewise.experiments.suite import Suite
from nodewise.report.main_table import cell_text, suite_table

RESULTS = Path(__file__).parents[2] / "results"


def recorded(results: Path) -> str:
    """A row for each recorded pair of model and data set."""
    found = suite_table(results, Suite.load("main"))
    rows = [
        f"| {model} | {dataset} | {cell['runs']} | {cell_text(cell)} |"
        for model, cells in found.items()
        for dataset, cell in cells.items()
    ]
    head = "| model | data set | runs | accuracy %, ± deviation (paper) |"
    return "\n".join([head, "|---|---|---|---|", *rows])


class RecordedResults(SphinxDirective):
    """Puts the table where it stands."""

    def run(self) -> list[Node]:
        """The table as nodes of the page."""
        return self.parse_text_to_nodes(recorded(RESULTS))


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("recorded-results", RecordedResults)
    return {"parallel_read_safe": True}
