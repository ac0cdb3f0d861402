"""The CSV tutorial as a notebook: it is that of the page, and it runs from top to bottom."""

from __future__ import annotations

import runpy
import time
from pathlib import Path

import nbformat
import psutil
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from tests.docs.notebooks import run
from tests.docs.pages import ROOT

NOTEBOOK = ROOT / "docs" / "tutorials" / "csv.ipynb"


def test_the_notebook_is_that_of_its_page() -> None:
    make = runpy.run_path(str(ROOT / "docs" / "make_notebook.py"))
    page = make["PAGE"].read_text("utf-8")
    assert NOTEBOOK.read_text("utf-8") == make["notebook"](page), (
        "run `python docs/make_notebook.py` and commit what it writes"
    )


def errors(outputs: list[NotebookNode]) -> list[str]:
    """What went wrong; nbclient itself overlooks a command that ends with an error."""
    return [output.evalue for output in outputs if output.output_type == "error"]


@pytest.mark.slow  # it has the code of its page, which another test runs
def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path) -> None:
    outputs = run(nbformat.read(NOTEBOOK, as_version=4), tmp_path)
    assert errors(outputs) == []
    assert "new nodes are right" in "".join(output.get("text", "") for output in outputs)
    assert (tmp_path / "runs" / "mine" / "report.html").exists()


def test_a_command_that_fails_in_a_notebook_is_seen(tmp_path: Path) -> None:
    book = new_notebook(cells=[new_code_cell("%run -m nodewise train --no-such-option")])
    assert errors(run(book, tmp_path)) == ["2"]


def test_a_cell_that_fails_is_reported_with_its_code(tmp_path: Path) -> None:
    book = new_notebook(cells=[new_code_cell("1 / 0")])
    with pytest.raises(AssertionError, match=r"ended with 1\n(.|\n)*ZeroDivisionError"):
        run(book, tmp_path)


WHO = "import ctypes, os\nfrom pathlib import Path\nPath('kernel').write_text(str(os.getpid()))"
# PyDLL keeps the interpreter's lock: such a kernel does not even notice that its parent is gone.
HANGS = "Path('began').touch()\nctypes.PyDLL(None).sleep(999)"


def test_a_notebook_that_hangs_is_killed_with_its_kernel(tmp_path: Path) -> None:
    began = tmp_path / "began"

    def clock() -> float:  # the limit comes when the cell has begun, on a busy machine, too
        return time.monotonic() + 1000 * began.exists()

    book = new_notebook(cells=[new_code_cell(WHO), new_code_cell(HANGS)])
    with pytest.raises(AssertionError, match=r"did not end within 900 s\n(.|\n)*sleep\(999\)"):
        run(book, tmp_path, limit=900, clock=clock)
    kernel = int((tmp_path / "kernel").read_text())
    for _ in range(100):
        if is_gone(kernel):
            return
        time.sleep(0.1)
    pytest.fail(f"the kernel is still there: {psutil.Process(kernel)}")


def is_gone(process: int) -> bool:
    try:
        return psutil.Process(process).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_child_that_cannot_close_its_channels_is_not_waited_for(tmp_path: Path) -> None:
    """The result counts, and not whether jupyter_client ends."""
    never_ends = "import atexit, os, signal\natexit.register(os.kill, os.getppid(), signal.SIGSTOP)"
    book = new_notebook(cells=[new_code_cell(never_ends + "\nprint('all is done')")])
    assert [output.text for output in run(book, tmp_path)] == ["all is done\n"]
