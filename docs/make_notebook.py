"""Write the CSV tutorial as a notebook, from its page: `python docs/make_notebook.py`.

A test runs the notebook and another one checks that it is up to date. Commands run inside the
notebook's own process (`%run -m nodewise`), which has the libraries loaded already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

PAGE = Path(__file__).parent / "tutorials" / "csv.md"
NOTEBOOK = PAGE.with_suffix(".ipynb")
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebook(page: str) -> str:
    """The notebook of a page, as the file has it."""
    cells = list(_cells(page))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    return nbformat.writes(new_notebook(cells=cells, metadata={"kernelspec": _KERNEL})) + "\n"


def _cells(page: str) -> Iterator[nbformat.NotebookNode]:
    """Words as Markdown, blocks as code; what a block prints is left to the notebook."""
    words, *blocks = _FENCE.split(page)
    yield new_markdown_cell(words.strip())
    for kind, code, words in zip(blocks[::3], blocks[1::3], blocks[2::3], strict=True):
        if kind == "python":
            yield new_code_cell(code.strip())
        if kind == "console":
            yield new_code_cell(_commands(code))
        if words.strip():
            yield new_markdown_cell(words.strip())


def _commands(code: str) -> str:
    commands = [line.removeprefix("$ ") for line in code.splitlines() if line.startswith("$ ")]
    return "\n".join(re.sub("^!nodewise", "%run -m nodewise", f"!{line}") for line in commands)


if __name__ == "__main__":
    NOTEBOOK.write_text(notebook(PAGE.read_text("utf-8")), "utf-8")
