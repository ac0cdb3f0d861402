"""Pages that commands write: the explorer as one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nodewise.errors import InputError
from nodewise.io import writing

if TYPE_CHECKING:
    from rich.progress import Progress

    from nodewise.explorer.explorer_data import ExplorerData


def check_page(path: Path, option: str) -> None:
    """Check that a page can be written, before anything is computed.

    Args:
        path: The page.
        option: The option that names it.

    Raises:
        InputError: It is a folder.
        RunError: Its folder cannot be made.
    """
    if path.is_dir():
        raise InputError(
            option, "is a folder", value=path, way_out="name a file, such as page.html"
        )
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)


def write_explorer(
    explored: ExplorerData,
    name: str,
    path: Path,
    tsne: bool,
    quiet: bool,
    details: int | None = None,
) -> int:
    """Write the explorer as one file; returns how many nodes have details in it.

    Args:
        explored: What it shows.
        name: The run's name.
        path: The file.
        tsne: Whether t-SNE lays the maps out, too.
        quiet: Whether to show no progress.
        details: How many nodes get details at most; None for as many as the file has by default.

    Raises:
        RunError: The page cannot be written.
    """
    from nodewise.explorer.static import DETAILS, write_static
    from nodewise.runs.progress import make_progress

    with make_progress(quiet) as progress:
        maps = explored.maps if tsne else ()
        laid = [_lay_out(explored, key, progress) for key in maps]
    layouts = ("pca", "tsne") if laid and all(laid) else ("pca",)
    with writing(path):
        return write_static(explored, name, path, details or DETAILS, layouts)


def _lay_out(explored: ExplorerData, key: str, progress: Progress) -> bool:
    from nodewise.experiments.plane import STAGES

    bar = progress.add_task(f"t-SNE of {explored.maps[key]}", total=STAGES)
    return explored.background.finish(key, lambda stage: progress.update(bar, completed=stage))
