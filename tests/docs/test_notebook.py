"""The CSV tutorial as a notebook: it is that of the page, and it runs from top to bottom."""

from __future__ import annotations

import runpy
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from tests.docs.pages import ROOT

NOTEBOOK = ROOT / "docs" / "tutorials" / "csv.ipynb"


def test_the_notebook_is_that_of_its_page() -> None:
    make = runpy.run_path(str(ROOT / "docs" / "make_notebook.py"))
    page = make["PAGE"].read_text("utf-8")
    assert NOTEBOOK.read_text("utf-8") == make["notebook"](page), (
        "run `python docs/make_notebook.py` and commit what it writes"
    )


def run(book: NotebookNode, folder: Path) -> list[NotebookNode]:
    """All outputs of a notebook's cells."""
    client = NotebookClient(book, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute()
    return [output for cell in book.cells for output in cell.get("outputs", [])]


def errors(outputs: list[NotebookNode]) -> list[str]:
    """What went wrong; nbclient itself overlooks a command that ends with an error."""
    return [output.evalue for output in outputs if output.output_type == "error"]


# The kernel's sockets are closed when they are collected; that is their libraries' affair.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path) -> None:
    outputs = run(nbformat.read(NOTEBOOK, as_version=4), tmp_path)
    assert errors(outputs) == []
    assert "new nodes are right" in "".join(output.get("text", "") for output in outputs)
    assert (tmp_path / "runs" / "mine" / "report.html").exists()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_command_that_fails_in_a_notebook_is_seen(tmp_path: Path) -> None:
    book = new_notebook(cells=[new_code_cell("%run -m nodewise train --no-such-option")])
    assert errors(run(book, tmp_path)) == ["2"]
