"""The run that the demo keeps, and a page of the explorer that shows it."""

from __future__ import annotations

import shutil
from pathlib import Path

from nodewise.cli.pages import check_page, write_explorer
from nodewise.errors import InputError
from nodewise.io import writing

_DETAILS = 100  # nodes; the demo takes a minute in all


def places_beside(out: Path) -> tuple[Path, Path]:
    """The explorer's page and the folder of its run, beside the demo's report.

    Raises:
        InputError: In the folder's place is something else than a run.
        RunError: Nothing can be written there.
    """
    from nodewise.runs.folder import CONFIG

    page, run = (out.with_name(f"{out.stem}-{what}") for what in ("explorer.html", "run"))
    check_page(page, "--out")
    if run.exists() and not (run / CONFIG).exists():
        raise InputError(
            "--out",
            "has something else in the place of its run",
            value=run,
            way_out="name another file",
        )
    return page, run


def keep_run(runs: Path, page: Path, kept: Path) -> None:
    """Copy the best of some runs, and write the explorer's page of it.

    Args:
        runs: The folder of the runs.
        page: The page.
        kept: The folder of the copy; an earlier one is replaced.

    Raises:
        RunError: Something cannot be written.
    """
    from nodewise.analysis.view import analyze
    from nodewise.explorer.explorer_data import ExplorerData
    from nodewise.runs.saved import load_run

    best = load_run(runs)
    with writing(kept):
        if kept.exists():
            shutil.rmtree(kept)
        shutil.copytree(best.folder, kept)
    write_explorer(ExplorerData(analyze(best)), "LGCN on the toy graph", page, True, True, _DETAILS)
