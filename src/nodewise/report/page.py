"""An HTML page in one file: no scripts, no fonts, nothing fetched."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from nodewise.data.atomic import replacing

_CSS = """
body { font: 16px/1.55 system-ui, sans-serif; color: #1c1c1c; background: #fff;
       max-width: 60rem; margin: 2.5rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .3rem .9rem .3rem 0; text-align: right; border-bottom: 1px solid #e2e2e2;
         font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; } th { font-weight: 600; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; }
figcaption, footer { color: #555; font-size: .9rem; } footer { margin-top: 3rem; }
code { background: #f3f3f3; padding: .1em .3em; border-radius: 3px; }
"""


class Page:
    """Collects sections and writes them as one file.

    Args:
        title: The page's title.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = []

    def heading(self, text: str) -> None:
        """A section's heading."""
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def paragraph(self, text: str) -> None:
        """A paragraph of plain text."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table; the first column is to the left, the others to the right."""
        head = "".join(f"<th scope='col'>{escape(column)}</th>" for column in columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
        )
        self._parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")

    def figure(self, svg: str, caption: str) -> None:
        """A plot with what it shows."""
        label = escape(caption, quote=True)
        self._parts.append(
            f"<figure role='img' aria-label='{label}'>{svg}"
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )

    def html(self, footer: str = "") -> str:
        """The whole page."""
        title = escape(self.title)
        return (
            "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
            "<meta name='viewport' content='width=device-width, initial-scale=1'>"
            f"<title>{title}</title><style>{_CSS}</style></head><body><h1>{title}</h1>"
            + "\n".join(self._parts)
            + f"<footer>{escape(footer)}</footer></body></html>\n"
        )

    def write(self, path: Path, footer: str = "") -> None:
        """Write the page; the file is whole or not there."""
        with replacing(path) as stream:
            stream.write(self.html(footer).encode())
