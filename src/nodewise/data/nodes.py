"""The nodes of a graph: their ids, from a table of nodes or from the edges alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nodewise.data.cells import in_order, names_in
from nodewise.data.options import Roles
from nodewise.data.sources.source import Table


def index_of(nodes: Table, column: str) -> Any:
    """The names of the nodes, as a pandas index.

    Raises:
        TableError: A node has none, or the name of another.
    """
    names = names_in(nodes.frame[column])
    empty = np.asarray(names == "")
    if empty.any():
        raise nodes.error(
            "is empty",
            row=int(empty.argmax()),
            column=column,
            value="",
            way_out="give every node an id, or name the right column with `id` (--id)",
        )
    repeated = np.asarray(names.duplicated())
    if repeated.any():
        row = int(repeated.argmax())
        first = int((names == names.iloc[row]).argmax())
        raise nodes.error(
            f"is the id of {nodes.place(first)} too",
            row=row,
            column=column,
            value=names.iloc[row],
            way_out="give every node an id of its own, or name the right column with `id` (--id)",
        )
    return pd.Index(names)


def own_ids(nodes: Table, column: str) -> tuple[Any, ...]:
    """The ids as their owner wrote them, but for spaces around them."""
    cells = nodes.frame[column]
    return tuple(cells.str.strip() if isinstance(cells.dtype, pd.StringDtype) else cells.tolist())


def nodes_of_edges(edges: Table, roles: Roles) -> Table:
    """A table of the nodes that edges name, sorted; whole numbers as such."""
    ends = [names_in(edges.frame[column]) for column in (roles.source, roles.target)]
    names = in_order(name for end in ends for name in end.unique() if name)
    frame = pd.DataFrame({"id": pd.array(names, dtype="str")})
    return Table(edges.name, frame, lambda row: f"node {names[row]!r}")
