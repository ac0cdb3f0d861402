"""The CSV tutorial as a notebook: it is that of the page, and it runs from top to bottom."""

from __future__ import annotations

import runpy
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.docs.pages import ROOT

NOTEBOOK = ROOT / "docs" / "tutorials" / "csv.ipynb"


def test_the_notebook_is_that_of_its_page() -> None:
    make = runpy.run_path(str(ROOT / "docs" / "make_notebook.py"))
    page = make["PAGE"].read_text("utf-8")
    assert NOTEBOOK.read_text("utf-8") == make["notebook"](page), (
        "run `python docs/make_notebook.py` and commit what it writes"
    )


# The kernel's sockets are closed when they are collected; that is their libraries' affair.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path) -> None:
    book = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(
        output.get("text", "") for cell in book.cells for output in cell.get("outputs", [])
    )
    assert "exception" not in printed.lower()  # what %run says of a command that fails
    assert "new nodes are right" in printed
    assert (tmp_path / "runs" / "mine" / "report.html").exists()
