"""The section of a run's page with its predictions for nodes without a label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from nodewise.report.page import Page
from nodewise.report.run_sections.records import RunGroup

_COLUMNS = ("node", "prediction", "probability, %", "second", "probability, %")
_WORDS = ("prediction", "second")


def add_predictions(page: Page, group: RunGroup, folder: Path) -> None:
    """Add a table of predictions that can be searched, if there are unlabeled nodes.

    Args:
        page: The page.
        group: The runs; the best one's predictions are shown.
        folder: The folder to predict with.
    """
    found = (group.best.diagnostics or {}).get("unlabeled")
    if found is None:
        return
    shown, count = len(found["ids"]), found["count"]
    which = f"All {count:,}" if shown == count else f"The {shown:,} surest of {count:,}"
    page.heading("Predictions for nodes without a label")
    page.paragraph(
        f"{which}, the surest first.{group.which_run} To write all of them to a file, with the "
        f"probability of every class: `nodewise predict {quote(str(folder))} --out labels.csv`."
    )
    if shown < count:
        page.paragraph(f"{count - shown:,} more nodes are not on this page.")
    rows = _rows(found, group.classes)
    used = [name for name in group.classes if name in {row[1] for row in rows}]
    page.search_table(_COLUMNS, rows, _WORDS, used)


def _rows(found: Mapping[str, Any], classes: Sequence[str]) -> list[list[str]]:
    columns = [[str(name) for name in found["ids"]]]
    for rank in ("first", "second"):
        if rank in found:
            columns.append([classes[k] for k in found[rank]])
            columns.append([f"{100 * share:.1f}" for share in found[f"{rank}_p"]])
    rows = [list(row) for row in zip(*columns, strict=True)]
    return [row + [""] * (len(_COLUMNS) - len(row)) for row in rows]
