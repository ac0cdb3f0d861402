"""Tables of nodes and of edges that were given in each other's place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from shlex import quote

import numpy as np

from nodewise.data.options import Roles
from nodewise.data.sources.cells import names_in, positions
from nodewise.data.sources.source import Source
from nodewise.data.tables.columns import edge_roles, node_roles
from nodewise.errors import NodewiseError, TableError

_KNOWN = 0.5  # of the ends of edges are ids of nodes


@contextmanager
def detecting_swapped_tables(nodes: Source | None, edges: Source, named: Roles) -> Iterator[None]:
    """Raise any error of the block as one that says that the tables are swapped, if they are.

    Args:
        nodes: The table that was given as the nodes.
        edges: The table that was given as the edges.
        named: The columns that the options name.

    Raises:
        TableError: The tables are swapped.
    """
    try:
        yield
    except NodewiseError as error:
        if nodes is None or not _are_swapped(nodes, edges, named):
            raise
        raise TableError(
            nodes.name,
            f"looks like the table of edges, and {edges.name} like that of nodes",
            way_out=f"exchange them: --nodes {quote(edges.name)} --edges {quote(nodes.name)}",
        ) from error


def _are_swapped(nodes: Source, edges: Source, named: Roles) -> bool:
    """Whether edges have ends among the nodes only if the tables change places."""
    return _fit(edges, nodes, named) >= _KNOWN > _fit(nodes, edges, named)


def _fit(nodes: Source, edges: Source, named: Roles) -> float:
    """The share of ends of edges that are ids of nodes; 0 if they are not two such tables."""
    try:
        ends = edge_roles(edges, Roles(source=named.source, target=named.target))
        node_id = str(node_roles(nodes, Roles(id=named.id)).id)
        ids = names_in(nodes.read([node_id]).frame[node_id])
        columns = [str(ends.source), str(ends.target)]
        table = edges.read(columns)
    except TableError:
        return 0.0
    known = [positions(names_in(table.frame[column]), ids) >= 0 for column in columns]
    return float(np.mean(known)) if ids.is_unique else 0.0
