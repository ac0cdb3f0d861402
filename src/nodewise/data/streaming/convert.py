"""`convert_tables`: two tables of any size into a store, in bounded memory.

The steps are those of `build`, and so are their errors: names of nodes, ends of edges, labels and
split, encoders; then the edges by target, and the features. What does not fit the memory is in a
folder within the store's. A store that is there is replaced at the very end; what a killed
conversion has left is deleted by the next, which begins anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import disk_usage, rmtree
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nodewise.data.graph import Parts, summarize
from nodewise.data.options import ReadOptions, Roles
from nodewise.data.sources.input_file import InputFile
from nodewise.data.sources.open_source import open_source
from nodewise.data.stores.meta import META, UNFINISHED
from nodewise.data.stores.store import PREPROCESSING, GraphStore
from nodewise.data.stores.writer import ARRAYS, StoreWriter, remove_store
from nodewise.data.streaming.budget import Budget
from nodewise.data.streaming.edge_sort import EdgeSorter
from nodewise.data.streaming.encode import FittedNodes, NodeEncoder, fit_nodes
from nodewise.data.streaming.rows import NodeRows, read_edges, read_nodes
from nodewise.data.streaming.table import Show, StreamedTable, stream_nodes
from nodewise.data.tables.build import as_text_columns, find_roles
from nodewise.data.tables.edges import Edges
from nodewise.data.tables.nodes import Labels
from nodewise.data.tables.preprocessing import Preprocessing
from nodewise.data.tables.summary import Summary, edge_notes, feature_notes, label_notes, roles_note
from nodewise.data.tables.swapped import detecting_swapped_tables
from nodewise.data.writers.store import not_writable, reading_of
from nodewise.errors import InputError

_SMALL: Final = 1 << 26  # bytes of tables that are read again, to see whether they are swapped


@dataclass(frozen=True, eq=False)
class Converted:
    """A store that was written of tables.

    Attributes:
        store: The store.
        summary: What was read; print it.
    """

    store: GraphStore
    summary: Summary


def convert_tables(
    nodes: InputFile,
    edges: InputFile,
    options: ReadOptions,
    folder: Path,
    budget: Budget,
    fitted: Preprocessing | None = None,
    show: Show = lambda what, done, total: None,
) -> Converted:
    """Write two tables as a store, which is what they are in memory.

    Args:
        nodes: A text or a Parquet file.
        edges: The same.
        options: How to read them.
        folder: Where to.
        budget: The memory that this may use.
        fitted: The preprocessing of an earlier table, to encode these as that one.
        show: Called with what is done, how much of it, and how much there is.

    Raises:
        TableError: Something is wrong with a table.
        InputError: The store cannot be written, or the memory is too little.
    """
    sources = open_source(nodes, "nodes"), open_source(edges, "edges", header=False)
    small = sum(file.path.stat().st_size for file in (nodes, edges)) < _SMALL
    swapped = detecting_swapped_tables(*sources, options.roles) if small else nullcontext()
    try:
        with swapped, _working_in(folder) as parts:
            work = _Conversion(*sources, options, parts, budget, fitted, show)
            summary = work.run(made_of(nodes, edges, options))
            _move(parts / "store", folder)
    except OSError as error:
        raise not_writable(folder, error) from error
    return Converted(GraphStore.open(folder), summary)


def check_free(folder: Path, force: bool) -> None:
    """Check that a store may be written to a folder.

    Raises:
        InputError: There is a store already, or something else.
    """
    if folder.is_file():
        raise InputError(str(folder), "is a file", way_out="choose another name")
    if (folder / META).exists() and not force:
        raise InputError(str(folder), "is a store already", way_out="use --force to replace it")
    if folder.is_dir() and not (folder / META).exists():
        ours = {UNFINISHED, ".lock", PREPROCESSING, *(f"{array}.npy" for array in ARRAYS)}
        strange = sorted(path.name for path in folder.iterdir() if path.name not in ours)
        if strange:
            raise InputError(
                str(folder),
                "is a folder with other files in it",
                value=strange[0],
                way_out="choose another name",
            )


@dataclass(frozen=True, eq=False)
class _Conversion:
    """One conversion; `run` is the sequence of its steps."""

    nodes: Any
    edges: Any
    options: ReadOptions
    folder: Path
    budget: Budget
    fitted: Preprocessing | None
    show: Show

    def run(self, about: dict[str, Any]) -> Summary:
        """Write the store into the folder `store`, and return the summary."""
        options, fitted = self.options, self.fitted
        roles = find_roles(self.nodes, self.edges, options, fitted)
        as_text = as_text_columns(self.nodes, roles, options, fitted)
        spool = self.folder / "nodes.arrow"
        table = stream_nodes(self.nodes, as_text, spool, self.budget, self.show)
        budget = self.budget.beside(table.num_rows)
        rows = read_nodes(table, roles, options, fitted, self.folder, self.show)
        sorter = self._sorter(roles, table.num_rows, budget)
        read_edges(self.edges, roles, rows.names, table.name, sorter, budget, self.show)
        rows.names.forget()
        with StoreWriter(
            self.folder / "store",
            table.num_rows,
            None,
            rows.labels.class_names,
            ids=rows.ids,
            weighted=sorter.weighted,
            split=rows.part is not None,
            directed=sorter.directed,
        ) as writer:
            neighbors = _write_edges(writer, sorter, self.show)
            fit = self._fit(table, roles, rows.labels, neighbors)
            encoder = NodeEncoder(fit.preprocessing, roles, neighbors, budget)
            self._write_nodes(writer, table, rows, encoder, fit)
            notes = (
                *roles_note(roles),
                *edge_notes(self.edges, roles),
                *label_notes(rows.labels, rows.given),
                *feature_notes(encoder.notes, fit.preprocessing),
            )
            summary = _summary(rows, sorter, neighbors, fit, notes)
            fit.preprocessing.save(writer.folder / PREPROCESSING)
            writer.finish({"reading": reading_of(summary), "made_of": about})
        return summary

    def _sorter(self, roles: Roles, num_nodes: int, budget: Budget) -> EdgeSorter:
        directed = self.options.directed or (self.fitted is not None and self.fitted.directed)
        weighted = roles.weight is not None
        return EdgeSorter(self.folder, num_nodes, directed, weighted, budget.entries)

    def _fit(
        self, table: StreamedTable, roles: Roles, labels: Labels, neighbors: NDArray[np.int64]
    ) -> FittedNodes:
        if self.fitted is not None:
            return FittedNodes(self.fitted, {}, ())
        return fit_nodes(table, roles, self.options, labels, neighbors, self.show)

    def _write_nodes(
        self,
        writer: StoreWriter,
        table: StreamedTable,
        rows: NodeRows,
        encoder: NodeEncoder,
        fit: FittedNodes,
    ) -> None:
        writer.name_features(fit.preprocessing.feature_names)
        _check_room(self.folder, table.num_rows, len(fit.preprocessing.feature_names))
        labels, part = rows.labels.y, rows.part
        for block in encoder.blocks(table):
            nodes = slice(block.start, block.start + len(block.x))
            y = labels[nodes]
            known = None if part is None else np.where(y >= 0, part[nodes], 0)
            writer.add_nodes(block.x, y, known, block.ids)
            self.show("writing nodes", nodes.stop, table.num_rows)


def _write_edges(writer: StoreWriter, sorter: EdgeSorter, show: Show) -> NDArray[np.int64]:
    """Write the edges; returns how many neighbors each node has."""
    neighbors = []
    for block in sorter.blocks(show):
        writer.add_edges(block.degrees, block.row, block.weight)
        neighbors.append(block.neighbors)
    return np.concatenate(neighbors)


def _summary(
    rows: NodeRows,
    sorter: EdgeSorter,
    neighbors: NDArray[np.int64],
    fit: FittedNodes,
    notes: tuple[str, ...],
) -> Summary:
    counts = sorter.counts
    edges = Edges(
        np.zeros((2, 0), np.int64),
        None,
        counts.directed_pairs if sorter.directed else counts.pairs,
        neighbors,
        counts.dropped(sorter.directed),
        counts.disagreeing,
    )
    parts = Parts(
        ids=(),
        features=None,
        edges=edges,
        labels=rows.labels,
        preprocessing=fit.preprocessing,
        split=None if rows.given is None else rows.given.split,
        left_out=fit.left_out,
        notes=notes,
        warnings=fit.warnings,
    )
    return summarize(parts)


def _check_room(folder: Path, num_nodes: int, width: int) -> None:
    """Check that the disk has room for the features, before hours are spent on writing them."""
    needed, free = 4 * num_nodes * width, disk_usage(folder).free
    if needed > free:
        raise InputError(
            "features",
            f"{width:,} of {num_nodes:,} nodes need {needed / 1e9:.1f} GB, and the disk has "
            f"{free / 1e9:.1f} GB left",
            way_out="make room, or take fewer: --features, --max-vocabulary",
        )


@contextmanager
def _working_in(folder: Path) -> Iterator[Path]:
    """A folder for what is not finished; a new store's folder is deleted if there is an error."""
    parts = folder / UNFINISHED
    rmtree(parts, ignore_errors=True)
    parts.mkdir(parents=True)
    try:
        yield parts
    finally:
        rmtree(parts, ignore_errors=True)
        with suppress(OSError):  # it is not empty
            folder.rmdir()


def _move(store: Path, folder: Path) -> None:
    """Put a complete store into another one's place: `store.json` goes first and comes last."""
    remove_store(folder)
    for path in sorted(store.iterdir(), key=lambda path: path.name == META):
        path.replace(folder / path.name)


def made_of(nodes: InputFile, edges: InputFile, options: ReadOptions) -> dict[str, Any]:
    """What a store is made of, as its `store.json` has it."""
    files = {"nodes": nodes, "edges": edges}
    return {
        "files": {what: str(file.path) for what, file in files.items()},
        "files_sha256": {what: file.sha256 for what, file in files.items()},
        "options": options.to_dict(),
    }
