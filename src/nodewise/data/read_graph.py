"""`read_graph`: somebody's own graph in, from wherever it is."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from nodewise.data.build import build
from nodewise.data.graph import GraphTable
from nodewise.data.options import Missing, Options, TextAs, Wish
from nodewise.data.preprocessing import Preprocessing
from nodewise.data.roles import ID
from nodewise.data.sources.first_bytes import ZIP, first_bytes
from nodewise.data.sources.networkx_graph import from_networkx
from nodewise.data.sources.npz_graph import read_npz
from nodewise.data.sources.open_source import FrameSource, open_source
from nodewise.data.sources.pyg_graph import from_pyg
from nodewise.data.sources.released import is_released, read_released
from nodewise.data.sources.source import Source
from nodewise.errors import InputError


def read_graph(
    nodes: Any = None,
    edges: Any = None,
    *,
    id: str | None = None,
    label: str | None = None,
    unlabeled: str | Iterable[str] = (),
    split: str | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    directed: bool = False,
    features: str | Iterable[str] | None = None,
    text: str | Iterable[str] = (),
    text_as: TextAs = "tfidf",
    max_vocabulary: int = 5000,
    missing: Missing = "error",
    scale: bool = True,
    sparse: bool | None = None,
    preprocessing: Preprocessing | None = None,
) -> GraphTable:
    """Read a graph: a table of nodes and a table of edges, or a file that has both.

    Tables are CSV, TSV (comma, tab or semicolon, found by itself), packed with gzip or not, or
    Parquet; pandas frames; for edges also pairs. A single file may be an `.npz`, or the
    `graph.node` of the released LGNN program beside its `graph.edge`. NetworkX and PyG graphs are
    taken too. Ids are compared as texts, so that 1 and "1" are one node.

    Args:
        nodes: The nodes, a row each; None takes those that edges name.
        edges: The edges, a row each; ends must be nodes. Repeats and self-loops are dropped.
        id: The column of node ids; else one called `id` or the like, else the first; in a frame
            without one, the index.
        label: The column of labels; else one called `label`, `class` or `y`, if there is one. A
            node with an empty cell is to be predicted.
        unlabeled: Further texts in that column that mean no label, such as "unknown".
        split: The column that says train, val or test, or nothing; else one called `split`.
        source: The column of edges where they start; else one called so, else the first.
        target: The column of edges where they end; else one called so, else the second.
        weight: The column of edge weights, if they are to be used.
        directed: Whether edges have a direction.
        features: The columns that become features: numbers as such, names one-hot. None takes all
            columns of numbers, and those of names that have at most 50, and half as many as there
            are rows; an empty list takes none, and a node's degree is its feature, as it is where
            there are no columns to take.
        text: Columns of texts, whose words become features.
        text_as: "tfidf", or "bag" for counts of words.
        max_vocabulary: The words of a text column that are kept, the most frequent.
        missing: What becomes of an empty cell among the features: an error, or the column's mean,
            its median, or zero; names then have none.
        scale: Whether columns of numbers get mean 0 and deviation 1; zeros and ones stay.
        sparse: Whether `x` is a `torch.sparse_csr` tensor; None decides by density and size.
        preprocessing: That of an earlier table, to make the same features and classes; the
            columns it remembers need not be named again.

    Returns:
        The graph with its ids, a summary to print, and the preprocessing.

    Raises:
        TableError: Something is wrong with a table; the one-line message has the file, the row,
            the column, the value and the way out.
        InputError: The options contradict each other.
    """
    options = Options(
        id=id,
        label=label,
        unlabeled=unlabeled,
        split=split,
        source=source,
        target=target,
        weight=weight,
        directed=directed,
        features=features,
        text=text,
        text_as=text_as,
        max_vocabulary=max_vocabulary,
        missing=missing,
        scale=scale,
        sparse=sparse,
        preprocessing=preprocessing,
    )
    if isinstance(nodes, str | os.PathLike):
        return _read_path(Path(nodes).expanduser(), edges, Wish.of(options))
    if nodes is None or isinstance(nodes, pd.DataFrame):
        return from_pandas(nodes, edges, **options)
    return _from_object(nodes, options)


def from_pandas(nodes: Any, edges: Any, **options: Unpack[Options]) -> GraphTable:
    """Make a graph of pandas frames.

    Args:
        nodes: The nodes, a row each; without `id` and a column called so, their index has the ids.
            None takes the nodes that edges name.
        edges: The edges, a row each.
        **options: Those of `read_graph`.

    Raises:
        TableError: Something is wrong with a frame.
        InputError: The options contradict each other.
    """
    wish = Wish.of(options)
    return build(None if nodes is None else _with_index(nodes, wish), _edges(edges), wish)


def _read_path(path: Path, edges: Any, wish: Wish) -> GraphTable:
    if first_bytes(path).startswith(ZIP) and edges is None:
        return read_npz(path, wish)
    if is_released(path):
        return read_released(path, None if edges is None else _edges(edges), wish)
    return build(open_source(path, "nodes"), _edges(edges), wish)


def _edges(edges: Any) -> Source:
    if edges is None:
        raise InputError("edges", "are missing", way_out="give a table of edges")
    return open_source(edges, "edges", header=False)


def _with_index(nodes: Any, wish: Wish) -> Source:
    """The frame, its index as the first column if no column has the ids."""
    source = FrameSource("nodes", nodes)
    stored = None if wish.preprocessing is None else wish.preprocessing.roles.id
    if wish.roles.id or stored in source.columns or source.guess(ID):
        return source
    index = nodes.index.to_series()
    name = stored or str(nodes.index.name or "(index)")
    frame = nodes.copy(deep=False)
    frame.insert(0, name, index)
    return FrameSource("nodes", frame)


def _from_object(graph: Any, options: Options) -> GraphTable:
    """A graph of another library; each is imported only when something unknown comes along."""
    from torch_geometric.data import Data

    if isinstance(graph, Data):
        return from_pyg(graph)
    import networkx as nx

    if isinstance(graph, nx.Graph):
        return from_networkx(graph, **options)
    raise InputError(
        "nodes",
        "must be a path, a pandas frame, a NetworkX graph or PyG's Data",
        value=type(graph).__name__,
        way_out="make a pandas frame of it",
    )
