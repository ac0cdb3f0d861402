"""A cell of a section's tables."""

from __future__ import annotations

from nodewise.report.suite_sections.section import Section


def cell(section: Section, table: int, row: str, column: str) -> str:
    found = section.tables[table]
    return dict(found.rows)[row][found.columns.index(column) - 1].text
