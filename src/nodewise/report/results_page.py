"""The page of a folder of results: every suite with its tables, its plot and its records."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from nodewise._version import __version__
from nodewise.experiments.table import Line
from nodewise.io import replacing, writing
from nodewise.report.page import LinkedCell, Page
from nodewise.report.style import to_png, to_svg
from nodewise.report.suite_sections.section import MISSING, Row, Section, Table, TableCell

PAGE = "index.html"


def write_results(out: Path, sections: Sequence[Section]) -> Path:
    """Write the page and a PNG for each plot; earlier plots that have no records now are deleted.

    Args:
        out: The folder to write to.
        sections: What to show.

    Returns:
        The page.

    Raises:
        RunError: The folder cannot be written.
    """
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    page = Page("nodewise: the paper's tables and figures, and ours")
    page.paragraph(
        "Every number comes from records in the folder of results: open the runs below a cell to "
        "get to their lines. A number without a record is missing. Nothing is trained or "
        "measured for this page."
    )
    page.contents([(s.suite.name, s.suite.title, s.state) for s in sections])
    for section in sections:
        _show(page, section, out)
        _draw(out / f"{section.suite.name}.png", section)
    with writing(out / PAGE):
        page.write(out / PAGE, f"nodewise {__version__}; written by `nodewise report`.")
    return out / PAGE


def _show(page: Page, section: Section, out: Path) -> None:
    suite = section.suite
    page.heading(suite.title, suite.name)
    page.paragraph(f"The paper: {suite.paper}")
    page.paragraph(f"Differences: {suite.differs}")
    page.paragraph(_state(section))
    if section.figure is not None:
        page.figure(to_svg(section.figure), section.caption)
    for table in section.tables:
        page.table(table.columns, [_row(row, out) for row in table.rows])
    page.paragraph(section.legend)
    for error in section.refused:
        page.paragraph(f"Left out: {error}")
    for note in section.notes:
        page.paragraph(f"Note: {note}.")


def _state(section: Section) -> str:
    return f"{section.state[0].upper()}{section.state[1:]}."


def _row(row: Row, out: Path) -> list[str | LinkedCell]:
    name, cells = row
    return [name, *(_linked(cell, out) for cell in cells)]


def _linked(cell: TableCell, out: Path) -> str | LinkedCell:
    if cell is not MISSING and not cell.records:
        return cell.text
    links = [(_label(line), _address(line, out)) for line in cell.records]
    return LinkedCell(cell.text, cell.counted if cell is not MISSING else "", links)


def _address(line: Line, out: Path) -> str:
    """The table, and the line as GitHub's pages number it; others ignore that."""
    return f"{quote(os.path.relpath(line.path, out))}#L{line.number}"


def _label(line: Line) -> str:
    """A run by its model and seed; another record by the last part of its key."""
    _, *names = line.key
    return (
        " ".join(str(name) for name in names if name != line.record.get("variant")) or line.key[0]
    )


def _draw(path: Path, section: Section) -> None:
    with writing(path):
        if section.figure is None:
            if section.count == 0:
                path.unlink(missing_ok=True)
            return
        with replacing(path) as stream:
            stream.write(to_png(section.figure))


def plain_rows(table: Table) -> list[list[str]]:
    """The rows of a table for a terminal."""
    return [[name, *(cell.plain for cell in cells)] for name, cells in table.rows]


def markdown(table: Table) -> str:
    """A table in Markdown, without the rows that have no record."""
    rows = [row for row in table.rows if any(cell.count for cell in row[1])]
    ruler = ["---"] * len(table.columns)
    lines = [table.columns, ruler, *plain_rows(Table(table.columns, rows))]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def markdown_section(section: Section) -> str:
    """A suite in Markdown: how many records it has, its tables, their legend, and notes."""
    tables = [markdown(table) for table in section.tables if _has_records(table)]
    notes = [f"Note: {note}." for note in section.notes]
    return "\n\n".join([_state(section), *tables, section.plain_legend, *notes])


def _has_records(table: Table) -> bool:
    return any(cell.count for _, cells in table.rows for cell in cells)
