"""NetworkX graphs: attributes of nodes are columns, attributes of edges too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from nodewise.data.graph import GraphTable
from nodewise.data.options import ReadOptions, chosen_options, with_option_names
from nodewise.data.sources.open_source import FrameSource
from nodewise.data.tables.build import build
from nodewise.data.tables.preprocessing import Preprocessing
from nodewise.errors import TableError

_NODE = "(node)"  # in parentheses, so that it is the name of no attribute


@with_option_names
def from_networkx(
    graph: Any,
    *,
    options: ReadOptions | None = None,
    preprocessing: Preprocessing | None = None,
    **changes: Any,
) -> GraphTable:
    """Read a graph of NetworkX.

    A node's id is the node itself. Node attributes are read as columns; one that holds vectors,
    such as `x=[0.1, 0.2]`, becomes a column for each entry: `x_0`, `x_1`. Edges have a
    direction if the graph says so; parallel edges are one.

    Args:
        graph: A NetworkX graph.
        options: Which attributes are what; `label`, `split`, `features` and `text` name node
            attributes, `weight` an edge attribute. `id`, `source`, `target` and `directed` are
            those of the graph.
        preprocessing: That of an earlier graph, to make the same features and classes.
        **changes: Fields of `ReadOptions`, such as `label="topic"`; they override `options`.

    Returns:
        The graph, with NetworkX's nodes as `ids`.

    Raises:
        TableError: An attribute is not there, or cannot be read.
    """
    if graph.number_of_nodes() == 0:
        raise TableError("nodes", "the graph is empty", way_out="add nodes and edges")
    if graph.number_of_edges() == 0:
        raise TableError("edges", "the graph has none", way_out="add edges")
    nodes = pd.DataFrame([attributes for _, attributes in graph.nodes(data=True)])
    nodes.insert(0, _NODE, pd.Series(list(graph.nodes), dtype=object))
    ends = pd.DataFrame([(source, target) for source, target in graph.edges()], dtype=object)
    attributes = pd.DataFrame([attributes for *_, attributes in graph.edges(data=True)])
    edges = pd.concat([ends.set_axis(["source", "target"], axis=1), attributes], axis=1)
    sources = FrameSource("nodes", _spread(nodes)), FrameSource("edges", edges)
    ends = {"id": _NODE, "source": "source", "target": "target"}
    chosen = chosen_options(options, changes, preprocessing)
    chosen = replace(chosen, **ends, directed=graph.is_directed())
    return build(*sources, chosen, preprocessing)


def _spread(nodes: Any) -> Any:
    """Columns of vectors of one length, as a column for each entry."""
    columns = [_entries(name, nodes[name]) for name in nodes.columns]
    return pd.concat(columns, axis=1)


def _entries(name: Any, cells: Any) -> Any:
    vectors = cells.map(lambda cell: isinstance(cell, list | tuple | np.ndarray))
    if name == _NODE or not vectors.all() or cells.map(np.size).nunique() != 1:
        return cells
    matrix = np.stack([np.ravel(cell) for cell in cells])
    return pd.DataFrame(matrix, columns=[f"{name}_{i}" for i in range(matrix.shape[1])])
