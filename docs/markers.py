"""Generated parts of pages: from `<!-- generated: NAME ARGUMENTS -->` to `<!-- end -->`.

A code host shows pages as they are in the repository, so tables are written there by a script. The
comments are invisible on the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
Maker = Callable[..., str]
_PART = re.compile(r"(<!-- generated: ([\w-]+)([^>]*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(text: str, makers: Mapping[str, Maker]) -> str:
    """A page with every part renewed whose maker is known."""

    def renewed(part: re.Match[str]) -> str:
        opening, name, arguments, end = part.groups()
        if name not in makers:
            return part[0]
        return f"{opening}\n{makers[name](*arguments.split())}\n\n{end}"

    return _PART.sub(renewed, text)


def pages(makers: Mapping[str, Maker]) -> Iterator[tuple[Path, str]]:
    """Every page with its text as it should be."""
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        if "_build" not in path.parts:
            yield path, fill(path.read_text("utf-8"), makers)


def outdated(makers: Mapping[str, Maker]) -> list[str]:
    """The pages on which a part is not what its maker returns."""
    return [str(path.relative_to(ROOT)) for path, text in pages(makers) if text != read(path)]


def read(path: Path) -> str:
    """A page as it is in the repository."""
    return path.read_text("utf-8")


def write(makers: Mapping[str, Maker]) -> None:
    """Renew all pages."""
    for path, text in pages(makers):
        path.write_text(text, "utf-8")
