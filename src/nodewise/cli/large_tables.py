"""`nodewise train` on tables that outgrow `--memory`: they become a store of the run first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from nodewise.cli.convert_store import StoreRequest

if TYPE_CHECKING:
    from nodewise.training.processes import Processes

GRAPH: Final = "graph"  # the store's folder, within that of the runs
# What reading tables takes at its highest, over their size; gzip and Parquet are smaller than text.
_IN_MEMORY: Final = 8
_UNPACKED: Final = {".gz": 4, ".parquet": 2}


def outgrow(
    source: Mapping[str, Any], batching: Mapping[str, Any], recipe: str | None, quiet: bool
) -> bool:
    """Whether tables are to be written into files, because they would take more than `--memory`.

    It prints a line that says so.

    Args:
        source: Where the graph comes from.
        batching: What was given of the options of engines.
        recipe: The recipe that was named, if any; "auto" has to have the graph in memory.
        quiet: Whether to print nothing.
    """
    from nodewise.models.memory import as_size, memory_budget

    memory = batching["memory"]
    if memory is None or recipe == "auto" or batching["engine"] in ("field", "full"):
        return False
    tables = _request(source, Path(), memory).tables()
    if tables is None:
        return False
    sizes = [
        file.path.stat().st_size * _UNPACKED.get(file.path.suffix, 1) for file in tables.values()
    ]
    needed, budget = _IN_MEMORY * sum(sizes), memory_budget(memory, "--memory")
    if needed > budget and not quiet:
        typer.echo(
            f"memory    reading the tables would take about {as_size(needed)}, more than "
            f"{as_size(budget)}: they are written into files first"
        )
    return needed > budget


def in_files(
    source: Mapping[str, Any], folder: Path, memory: str, processes: Processes, quiet: bool
) -> dict[str, Any]:
    """The source of a store of tables, which the first process writes, unless it is there already.

    Args:
        source: The tables.
        folder: The store's folder.
        memory: What writing it may take.
        processes: Those that train together; the others wait.
        quiet: Whether to print nothing.

    Raises:
        TableError: Something is wrong with a table.
        InputError: The store cannot be written.
    """
    from nodewise.runs.stored_task import store_source

    if processes.is_first:
        request = _request(source, folder, memory)
        if not _is_there(request):
            request.write(quiet)
    processes.of_first(None)
    return store_source(folder, source["split_seed"])


def _is_there(request: StoreRequest) -> bool:
    """Whether there is a store of these tables, read in this way."""
    from nodewise.data.options import ReadOptions
    from nodewise.data.stores.meta import is_store
    from nodewise.data.stores.store import GraphStore
    from nodewise.data.streaming.convert import made_of

    tables = request.tables()
    if tables is None or not is_store(request.to):
        return False
    wanted = made_of(**tables, options=ReadOptions.from_dict(request.source["options"]))
    found = GraphStore.open(request.to).meta.get("made_of", {})
    # Not the paths: tables may have moved.
    return all(found.get(key) == wanted[key] for key in ("files_sha256", "options"))


def _request(source: Mapping[str, Any], folder: Path, memory: str) -> StoreRequest:
    return StoreRequest(source, folder, memory, like=None, force=True, root=None)
