"""`read_graph`: a graph from files, pandas frames, NetworkX or PyG."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from nodewise.data.graph import GraphTable
from nodewise.data.options import ReadOptions, chosen_options, with_option_names
from nodewise.data.sources.input_file import InputFile
from nodewise.data.sources.networkx_graph import from_networkx
from nodewise.data.sources.npz_graph import read_npz
from nodewise.data.sources.open_source import FrameSource, open_source
from nodewise.data.sources.pyg_graph import from_pyg
from nodewise.data.sources.released import edges_beside, is_released, read_released
from nodewise.data.sources.source import Source
from nodewise.data.sources.store_graph import read_store
from nodewise.data.tables.build import build
from nodewise.data.tables.columns import ID
from nodewise.data.tables.nodes import missing_label
from nodewise.data.tables.preprocessing import Preprocessing
from nodewise.errors import InputError


@with_option_names
def read_graph(
    nodes: Any = None,
    edges: Any = None,
    *,
    options: ReadOptions | None = None,
    preprocessing: Preprocessing | None = None,
    **changes: Any,
) -> GraphTable:
    """Read a graph: a table of nodes and a table of edges, or a file that has both.

    Tables are CSV, TSV (comma, tab or semicolon, detected), compressed with gzip or not, or
    Parquet; pandas frames; for edges also pairs. A single file may be an `.npz`, or the
    `graph.node` of the released LGNN program beside its `graph.edge`; a folder may be a store of
    `nodewise convert --to`. NetworkX and PyG graphs are read, too. Ids are compared as texts, so
    that 1 and "1" are one node.

    Args:
        nodes: The nodes, a row each; None takes those that edges name.
        edges: The edges, a row each; ends must be nodes. Repeats and self-loops are dropped.
        options: Which columns are what, and how features are made.
        preprocessing: That of an earlier table, to make the same features and classes; the
            columns it remembers need not be named again.
        **changes: Fields of `ReadOptions`, such as `label="topic"`; they override `options`.

    Returns:
        The graph with its ids, a summary to print, and the preprocessing.

    Raises:
        TableError: Something is wrong with a table; the one-line message has the file, the row,
            the column, the value and the way out.
        InputError: The options contradict each other.
    """
    chosen = chosen_options(options, changes, preprocessing)
    nodes, edges = _opened(nodes), _opened(edges)
    if edges is None and isinstance(nodes, InputFile) and is_released(nodes.path):
        edges = InputFile.open(edges_beside(nodes.path))
    return read_opened(nodes, edges, chosen, preprocessing)


@with_option_names
def from_pandas(
    nodes: Any,
    edges: Any,
    *,
    options: ReadOptions | None = None,
    preprocessing: Preprocessing | None = None,
    **changes: Any,
) -> GraphTable:
    """Read a graph from pandas frames.

    Args:
        nodes: The nodes, a row each; without `id` and a column of such a name, their index has the
            ids. None takes the nodes that edges name.
        edges: The edges, a row each.
        options: Which columns are what, and how features are made.
        preprocessing: That of an earlier frame, to make the same features and classes.
        **changes: Fields of `ReadOptions`, such as `label="topic"`; they override `options`.

    Raises:
        TableError: Something is wrong with a frame.
        InputError: The options contradict each other.
    """
    chosen = chosen_options(options, changes, preprocessing)
    source = None if nodes is None else _with_index(nodes, chosen, preprocessing)
    return build(source, _edges(edges), chosen, preprocessing)


def read_opened(
    nodes: Any,
    edges: Any,
    options: ReadOptions,
    fitted: Preprocessing | None = None,
    needs_labels: bool = False,
) -> GraphTable:
    """Read a graph from files that have been opened, or from objects in memory.

    Args:
        nodes: An `InputFile`, or another form of the nodes that `read_graph` takes.
        edges: An `InputFile`, or another form of the edges.
        options: How to read them.
        fitted: The preprocessing of an earlier table, or None.
        needs_labels: Whether files without labels are an error.

    Raises:
        TableError: Something is wrong with a table.
        InputError: There are no labels, though they are needed.
    """
    if isinstance(nodes, InputFile):
        graph = _read_file(nodes, edges, options, fitted, needs_labels)
    elif nodes is None:
        graph = build(None, _edges(edges), options, fitted, needs_labels)
    elif isinstance(nodes, pd.DataFrame):
        graph = from_pandas(nodes, edges, options=options, preprocessing=fitted)
    else:
        graph = _from_object(nodes, options, fitted)
    given = {what: file for what, file in (("nodes", nodes), ("edges", edges)) if file is not None}
    if not all(isinstance(file, InputFile) for file in given.values()):
        return graph
    source = {
        "files": {what: str(file.path) for what, file in given.items()},
        "files_sha256": {what: file.sha256 for what, file in given.items()},
        "options": options.to_dict(),
    }
    return replace(graph, source=source)


def _opened(thing: Any) -> Any:
    return InputFile.open(Path(thing)) if isinstance(thing, str | os.PathLike) else thing


def _read_file(
    nodes: InputFile,
    edges: Any,
    options: ReadOptions,
    fitted: Preprocessing | None,
    needs_labels: bool,
) -> GraphTable:
    if nodes.is_store:
        graph = read_store(nodes.path, edges, options, fitted)
    elif nodes.is_npz and edges is None:
        graph = read_npz(nodes.path, options, fitted)
    elif is_released(nodes.path):
        return read_released(nodes, _edges(edges), options, fitted)
    else:
        source = open_source(nodes, "nodes")
        return build(source, _edges(edges), options, fitted, needs_labels)
    if needs_labels and not graph.data.class_names:
        raise missing_label()
    return graph


def _edges(edges: Any) -> Source:
    if edges is None:
        raise InputError("edges", "are missing", way_out="give a table of edges")
    return open_source(edges, "edges", header=False)


def _with_index(nodes: Any, options: ReadOptions, fitted: Preprocessing | None) -> Source:
    """The frame, its index as the first column if no column has the ids."""
    source = FrameSource("nodes", nodes)
    stored = None if fitted is None else fitted.roles.id
    if options.id or stored in source.columns or source.guess(ID):
        return source
    index = nodes.index.to_series()
    name = stored or str(nodes.index.name or "(index)")
    frame = nodes.copy(deep=False)
    frame.insert(0, name, index)
    return FrameSource("nodes", frame)


def _from_object(graph: Any, options: ReadOptions, fitted: Preprocessing | None) -> GraphTable:
    """A graph of another library; each library is imported only when something unknown is given."""
    from torch_geometric.data import Data

    if isinstance(graph, Data):
        return from_pyg(graph)
    import networkx as nx

    if isinstance(graph, nx.Graph):
        return from_networkx(graph, options=options, preprocessing=fitted)
    raise InputError(
        "nodes",
        "must be a path, a pandas frame, a NetworkX graph or PyG's Data",
        value=type(graph).__name__,
        way_out="make a pandas frame of it",
    )
