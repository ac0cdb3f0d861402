"""Notebooks, run in a process of their own that ends at a limit.

jupyter_client may wait forever for its heartbeat thread when it closes a kernel's channels:
`HBChannel.stop` is lost if the thread has only just begun. So a child process runs the notebook,
writes the result before it closes anything, and is killed if it does not end soon afterwards.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import psutil
from nbclient import NotebookClient
from nbformat import NotebookNode

CLOSING = 3.0  # seconds for a child that has written its result


def run(
    book: NotebookNode,
    folder: Path,
    limit: float = 540.0,
    clock: Callable[[], float] = time.monotonic,
) -> list[NotebookNode]:
    """All outputs of a notebook's cells, run in `folder`.

    Raises:
        AssertionError: The child failed or reached the limit; the message has all it printed, and
            the last cell there is the one that it was at.
    """
    with TemporaryDirectory() as place:
        given, result, printed = (Path(place) / name for name in ("given", "result", "printed"))
        nbformat.write(book, given)
        command = [sys.executable, "-m", __name__, str(given), str(result), str(folder)]
        with printed.open("wb") as out:
            child = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
        end = clock() + limit
        try:
            while child.poll() is None and not result.exists() and clock() < end:
                time.sleep(0.05)
            if result.exists():
                wait(child, CLOSING)
        finally:
            ended = child.poll()
            kill_family(child)
        how = f"did not end within {limit:g} s" if ended is None else f"ended with {ended}"
        assert result.exists(), f"the notebook {how}\n{printed.read_text('utf-8')}"
        cells = nbformat.read(result, as_version=4).cells
    return [output for cell in cells for output in cell.get("outputs", [])]


def wait(child: subprocess.Popen[bytes], seconds: float) -> None:
    """Give a process some time to end."""
    with suppress(subprocess.TimeoutExpired):
        child.wait(seconds)


def kill_family(child: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it has started.

    To signal its group would not do: jupyter_client gives every kernel a session of its own.
    """
    family = psutil.Process(child.pid).children(recursive=True) if child.poll() is None else []
    child.kill()
    child.wait()
    for one in family:
        with suppress(psutil.NoSuchProcess):
            one.kill()


def main(given: str, result: str, folder: str) -> None:
    """Run a notebook in this process. Cells are printed before they run."""
    book = nbformat.read(given, as_version=4)
    client = NotebookClient(book, timeout=None, resources={"metadata": {"path": folder}})
    with client.setup_kernel():
        for number, cell in enumerate(book.cells):
            print(cell.source, flush=True)
            client.execute_cell(cell, number)
        nbformat.write(book, f"{result}.part")
        Path(f"{result}.part").rename(result)


if __name__ == "__main__":
    main(*sys.argv[1:])
