"""An HTML page in one file, without fonts or anything else from the network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from nodewise import colors
from nodewise.io import replacing
from nodewise.report.search_table import search_table

_CSS = """
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 60rem; margin: 2.5rem auto; padding: 0 1.2rem; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
a { color: var(--link); }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .3rem .9rem .3rem 0; text-align: right; border-bottom: 1px solid var(--line);
         font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; } th { font-weight: 600; }
figure { margin: 1rem 0; } figcaption { max-width: 45rem; }
figure svg { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
figcaption, footer { color: var(--pale); font-size: .9rem; } footer { margin-top: 3rem; }
nav ul, .words { padding-left: 1.2rem; } .words li { margin: .3rem 0; }
.wide { overflow-x: auto; } td { vertical-align: top; }
.linked td { white-space: nowrap; }
details { color: var(--pale); font-size: .8rem; white-space: normal; max-width: 12rem; }
summary { white-space: nowrap; } details a { margin-right: .4rem; }
.missing { color: var(--pale); font-style: italic; }
code { background: var(--shade); padding: .1em .3em; border-radius: 3px; white-space: nowrap; }
.rows { max-height: 30rem; overflow: auto; border: 1px solid var(--line); padding: 0 .6rem; }
.rows table { margin: 0; width: 100%; }
.rows th { position: sticky; top: 0; background: var(--paper); }
.tools label { margin-right: 1rem; white-space: nowrap; } .tools output { color: var(--pale); }
.tools input, .tools select { font: inherit; max-width: 12rem; }
@media (max-width: 40rem) { code { white-space: normal; overflow-wrap: anywhere; }
  table { font-size: .88rem; } th, td { padding-right: .6rem; } }
@media print { body { margin: 0; max-width: none; font-size: 11pt; } .tools { display: none; }
  figure, tr { break-inside: avoid; } h2 { break-after: avoid; }
  .rows { max-height: none; border: 0; } .rows tbody tr:nth-child(n+51) { display: none; }
  .rows:has(tbody tr:nth-child(51))::after { content: "Printed are the first 50 rows."; } }
"""


_LEFT = ", ".join(f".left-{i} :is(th, td):nth-child({i})" for i in range(2, 9))
_STYLE = f"{colors.CSS}{_CSS}{_LEFT} {{ text-align: left; }}"


@dataclass(frozen=True)
class LinkedCell:
    """A cell of a table with links under it.

    Attributes:
        text: What it says.
        summary: What the links are; they are shown when it is opened.
        links: Names and addresses (URLs); a cell without any is shown as missing.
    """

    text: str
    summary: str = ""
    links: Sequence[tuple[str, str]] = ()

    def html(self) -> str:
        """The cell's content."""
        if not self.links:
            return f"<span class='missing'>{escape(self.text)}</span>"
        links = "".join(
            f"<a href='{escape(address, quote=True)}'>{escape(name)}</a> "
            for name, address in self.links
        )
        summary = f"<summary>{escape(self.summary)}</summary>"
        return f"{escape(self.text)}<details>{summary}{links}</details>"


class Page:
    """Collects sections and writes them as one file.

    Args:
        title: The page's title.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = []

    def heading(self, text: str, anchor: str | None = None) -> None:
        """A section's heading, with a name to link to if it is given one."""
        mark = "" if anchor is None else f" id='{escape(anchor, quote=True)}'"
        self._parts.append(f"<h2{mark}>{escape(text)}</h2>")

    def contents(self, entries: Sequence[tuple[str, str, str]]) -> None:
        """A list of the headings on this page: anchor, text, and something about each."""
        items = "".join(
            f"<li><a href='#{escape(anchor, quote=True)}'>{escape(text)}</a>: {_prose(about)}</li>"
            for anchor, text, about in entries
        )
        self._parts.append(f"<nav><ul>{items}</ul></nav>")

    def paragraph(self, text: str) -> None:
        """A paragraph of plain text; text between backticks is code."""
        self._parts.append(f"<p>{_prose(text)}</p>")

    def bullets(self, items: Sequence[str]) -> None:
        """A list of sentences; text between backticks is code."""
        lines = "".join(f"<li>{_prose(item)}</li>" for item in items)
        self._parts.append(f"<ul class='words'>{lines}</ul>")

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str | LinkedCell]],
        words: Sequence[str] = (),
    ) -> None:
        """A table; the first column and those of `words` are to the left, others to the right."""
        linked = any(isinstance(cell, LinkedCell) for row in rows for cell in row)
        kind = "wide linked" if linked else "wide"
        self._parts.append(f"<div class='{kind}'>{_table(columns, rows, words)}</div>")

    def search_table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        words: Sequence[str],
        choices: Sequence[str],
    ) -> None:
        """A long table with a box to search it, and values of the second column to choose from."""
        self._parts.append(search_table(_table(columns, rows, words), choices))

    def figure(self, svg: str, caption: str) -> None:
        """A plot with what it shows."""
        label = escape(caption, quote=True)
        self._parts.append(
            f"<figure role='img' aria-label='{label}'>{svg}"
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )

    def html(self, footer: str = "") -> str:
        """The page as HTML."""
        title = escape(self.title)
        return (
            "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
            "<meta name='viewport' content='width=device-width, initial-scale=1'>"
            f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>"
            + "\n".join(self._parts)
            + f"<footer>{_prose(footer)}</footer></body></html>\n"
        )

    def write(self, path: Path, footer: str = "") -> None:
        """Write the page, completely or not at all."""
        with replacing(path) as stream:
            stream.write(self.html(footer).encode())


def _table(
    columns: Sequence[str], rows: Sequence[Sequence[str | LinkedCell]], words: Sequence[str]
) -> str:
    # A class of the table, not of cells: a long table would be a third longer.
    left = " ".join(f"left-{i}" for i, column in enumerate(columns, 1) if column in words)
    head = "".join(f"<th scope='col'>{escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_content(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    kind = f" class='{left}'" if left else ""
    return f"<table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _prose(text: str) -> str:
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def _content(cell: str | LinkedCell) -> str:
    return cell.html() if isinstance(cell, LinkedCell) else escape(cell)
