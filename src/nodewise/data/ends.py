"""The ends of edges: from two columns of ids to node numbers; and the edges' weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nodewise.data.cells import names_in, numbers_in, positions
from nodewise.data.options import Roles
from nodewise.data.roles import SOURCE, TARGET
from nodewise.data.sources.source import Table, among
from nodewise.errors import TableError


def ends_of(table: Table, roles: Roles, ids: Any, nodes: str) -> NDArray[np.int64]:
    """The node numbers of both ends of each row, shape (2, rows).

    Args:
        table: The edges.
        roles: Which columns are the ends.
        ids: The nodes' names, as a pandas index.
        nodes: What the table of nodes is called, for errors.

    Raises:
        TableError: An end is empty, or not among the nodes; or the header is an edge.
    """
    columns = [str(roles.source), str(roles.target)]
    names = [names_in(table.frame[column]) for column in columns]
    _check_header(table, columns, ids)
    ends = np.stack([positions(name, ids) for name in names])
    unknown = ends < 0
    if unknown.any():
        row = int(unknown.any(axis=0).argmax())
        side = int(unknown[:, row].argmax())
        raise _unknown_end(table, columns[side], row, names[side].iloc[row], unknown, nodes)
    return ends


def weights_of(table: Table, column: str) -> NDArray[np.float64]:
    """The weights of the rows.

    Raises:
        TableError: One is not a number, empty, or negative.
    """
    weights = numbers_in(table, column, way_out="give every edge a number, 0 or more")
    bad = ~(weights >= 0)
    if bad.any():
        row = int(bad.argmax())
        raise table.error(
            "a weight must be there, and not negative",
            row=row,
            column=column,
            value=table.written(row, column) if np.isnan(weights[row]) else float(weights[row]),
            way_out="give every edge a number, 0 or more",
        )
    return weights


def _check_header(table: Table, columns: list[str], ids: Any) -> None:
    """A header made of two ids is the first edge, and would be lost."""
    usual = all(column.lower() in SOURCE + TARGET for column in columns)
    if not usual and all(name in ids for name in names_in(pd.Series(columns))):
        raise table.error(
            "has no header, its first line is an edge",
            value=", ".join(columns),
            way_out="put a line with the columns' names before it, such as source,target",
        )


def _unknown_end(
    table: Table, column: str, row: int, name: str, unknown: NDArray[np.bool_], nodes: str
) -> TableError:
    if not name:
        way_out = "fill in the node's id, or delete the row"
        return table.error("is empty", row=row, column=column, value="", way_out=way_out)
    way_out = f"add the node to {nodes}, or delete the edge"
    if unknown.all():
        way_out = f"not one end is a known node: name the id column of {nodes} with `id` (--id)"
    return table.error(
        f"is not the id of a node in {nodes}{among(int(unknown.sum()), 'ends')}",
        row=row,
        column=column,
        value=name,
        way_out=way_out,
    )
