"""`nodewise convert --to FOLDER`: a graph of any size as a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nodewise.cli.graph_options import graph_source
from nodewise.cli.stopping import stopped

if TYPE_CHECKING:
    from nodewise.data.sources.input_file import InputFile
    from nodewise.data.stores.store import GraphStore
    from nodewise.data.streaming.table import Show
    from nodewise.data.tables.preprocessing import Preprocessing
    from nodewise.data.tables.summary import Summary


@dataclass(frozen=True)
class StoreRequest:
    """A store to write.

    Attributes:
        source: Where the graph comes from, for `load_source`.
        to: The store's folder.
        memory: The memory that tables may take, such as 4GB.
        like: A run or a store, as which features are encoded; or None.
        force: Whether a store that is there is replaced.
        root: The folder of raw files.
    """

    source: Mapping[str, Any]
    to: Path
    memory: str
    like: Path | None
    force: bool
    root: Path | None

    def write(self, quiet: bool) -> GraphStore:
        """Write it; tables in bounded memory, with a progress bar.

        Raises:
            InputError: It cannot be written, or there is something in its place.
            TableError: Something is wrong with a table.
        """
        from nodewise.data.streaming.budget import Budget
        from nodewise.data.streaming.convert import check_free
        from nodewise.models.memory import memory_budget
        from nodewise.runs.open_run import lock_folder

        budget = Budget(memory_budget(self.memory, "--memory"))
        check_free(self.to, self.force)
        fitted = None if self.like is None else preprocessing_of(self.like)
        files = self.tables()
        try:
            with lock_folder(self.to):
                if files is None:
                    store, summary = self._from_memory(fitted)
                else:
                    store, summary = self._streamed(files, budget, fitted, quiet)
        except KeyboardInterrupt:
            raise stopped("stopped; the same command begins anew") from None
        finally:
            self._tidy()
        if not quiet:
            typer.echo(str(summary))
            typer.echo(f"written: {self.to}, {_size(self.to)}")
        return store

    def tables(self) -> dict[str, InputFile] | None:
        """The files, if they are two tables, which can be streamed."""
        from nodewise.data.sources.input_file import find_files
        from nodewise.data.sources.released import is_released

        if set(self.source.get("files", ())) != {"nodes", "edges"}:
            return None
        files = find_files(self.source)
        nodes = files["nodes"]
        return None if nodes.is_npz or nodes.is_store or is_released(nodes.path) else files

    def _streamed(
        self,
        files: Mapping[str, Any],
        budget: Any,
        fitted: Preprocessing | None,
        quiet: bool,
    ) -> tuple[GraphStore, Summary]:
        from nodewise.data.options import ReadOptions
        from nodewise.data.streaming.convert import convert_tables

        options = ReadOptions.from_dict(self.source["options"])
        with _progress(quiet) as show:
            done = convert_tables(
                files["nodes"], files["edges"], options, self.to, budget, fitted, show
            )
        return done.store, done.summary

    def _from_memory(self, fitted: Preprocessing | None) -> tuple[GraphStore, Summary]:
        """A data set, or a graph in another form than tables: these fit the memory."""
        from nodewise.data.options import ReadOptions
        from nodewise.data.read_graph import read_graph
        from nodewise.data.writers.store import write_store
        from nodewise.runs.sources import load_source

        if "files" in self.source:
            options = ReadOptions.from_dict(self.source["options"])
            how: dict[str, Any] = {"options": options, "preprocessing": fitted}
            graph = read_graph(**self.source["files"], **how)
        else:
            graph = load_source(self.source, self.root)
        return write_store(graph, self.to), graph.summary

    def _tidy(self) -> None:
        """Leave no folder behind in which there is nothing but the lock."""
        from contextlib import suppress

        left = list(self.to.iterdir()) if self.to.is_dir() else []
        if [path.name for path in left] == [".lock"]:
            with suppress(OSError):
                left[0].unlink()
                self.to.rmdir()


def store_request(
    dataset: str | None,
    tables: Mapping[str, Any],
    split: tuple[str | None, int],
    to: Path,
    memory: str,
    like: Path | None,
    force: bool,
    root: Path | None,
) -> StoreRequest:
    """The request that a command line makes.

    Raises:
        InputError: There is no graph, or there are two.
    """
    source = graph_source(dataset, tables, *split)
    return StoreRequest(source, to.expanduser(), memory, like, force, root)


def preprocessing_of(like: Path) -> Preprocessing:
    """How the features of a run or of a store were made.

    Raises:
        NodewiseError: It is neither, or has no preprocessing.
    """
    from nodewise.data.stores.meta import is_store
    from nodewise.data.stores.store import GraphStore
    from nodewise.runs.folder import RunFolder
    from nodewise.runs.saved import best_run

    if is_store(like):
        return GraphStore.open(like).preprocessing
    return RunFolder(best_run(like)).preprocessing


@contextmanager
def _progress(quiet: bool) -> Iterator[Show]:
    """Yield a function that shows what is done, with a bar for each step."""
    from nodewise.runs.progress import make_progress

    with make_progress(quiet, timed=True, counts=False) as progress:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total or None)
            progress.update(tasks[what], completed=done, total=total or None)

        yield show


def _size(folder: Path) -> str:
    size = sum(path.stat().st_size for path in folder.iterdir())
    return f"{size / 10**9:.1f} GB" if size >= 10**9 else f"{size / 10**6:.1f} MB"


def about_store(store: GraphStore, folder: Path) -> dict[str, Any]:
    """The object of `--json` for a store."""
    return {
        "store": str(folder),
        "nodes": store.num_nodes,
        "edges": store.num_edges if store.directed else store.num_edges // 2,
        "features": store.num_features,
        "classes": len(store.classes),
        "sha256": store.sha256,
        "read_with": {"nodes": str(folder)},
    }
