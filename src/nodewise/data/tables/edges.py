"""The edges of a graph: node numbers from two columns of ids, sorted, without repeats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nodewise.data.options import Roles
from nodewise.data.sources.cells import names_in, numbers_in, positions
from nodewise.data.sources.source import SourceTable, among
from nodewise.data.tables.columns import SOURCE, TARGET
from nodewise.errors import TableError


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of a graph.

    Args:
        index: Sources and targets (2, E), sorted; both directions of every undirected edge.
        weight: One float32 for each (E), or None.
        count: How many there are; an undirected edge counts once.
        degrees: How many neighbors each node has, in either direction (nodes).
        dropped: Why rows were dropped, and how many.
        disagreeing: How many of those repeat an edge with another weight than the one kept.
    """

    index: NDArray[np.int64]
    weight: NDArray[np.float32] | None
    count: int
    degrees: NDArray[np.int64]
    dropped: Mapping[str, int]
    disagreeing: int = 0


def connect(
    ends: NDArray[np.int64],
    num_nodes: int,
    *,
    directed: bool = False,
    weight: NDArray[np.float64] | None = None,
) -> Edges:
    """The edges of the rows (2, rows) without self-loops and repeats, with both directions.

    Of repeated edges the weight of the first row is kept.
    """
    source, target = ends
    forward, backward = source * num_nodes + target, target * num_nodes + source
    loop = source == target
    either_way = np.minimum(forward, backward)
    same = forward if directed else either_way
    repeated = _repeated(forward) & ~loop
    reverse = _repeated(either_way) & ~repeated & ~loop
    pairs = np.flatnonzero(~(loop | repeated | reverse))
    rows = np.flatnonzero(~(loop | repeated)) if directed else np.concatenate([pairs, pairs])
    keys = forward[rows] if directed else np.concatenate([forward[pairs], backward[pairs]])
    order = np.argsort(keys)
    reasons = {"self-loops": loop, "repeated edges": repeated}
    if not directed:
        reasons["edges listed in both directions"] = reverse
    return Edges(
        index=np.stack(np.divmod(keys[order], num_nodes)),
        weight=None if weight is None else weight[rows[order]].astype(np.float32),
        count=len(rows) if directed else len(pairs),
        degrees=np.bincount(ends[:, pairs].ravel(), minlength=num_nodes),
        dropped={reason: int(found.sum()) for reason, found in reasons.items() if found.any()},
        disagreeing=0 if weight is None else _disagreeing(same[~loop], weight[~loop]),
    )


def _disagreeing(keys: NDArray[np.int64], weight: NDArray[np.float64]) -> int:
    """How many weights differ from that of the first row with the same key."""
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return int((weight != weight[first[which]]).sum())


def _repeated(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a key has been seen before."""
    repeated = np.ones(len(keys), np.bool_)
    # With the index NumPy sorts; without, it hashes, and such regular keys collide for seconds.
    repeated[np.unique(keys, return_index=True)[1]] = False
    return repeated


def ends_of(table: SourceTable, roles: Roles, ids: Any, nodes: str) -> NDArray[np.int64]:
    """The node numbers of both ends of each row, shape (2, rows).

    Args:
        table: The edges.
        roles: Which columns are the ends.
        ids: The nodes' names, as a pandas index.
        nodes: The name of the table of nodes, for errors.

    Raises:
        TableError: An end is empty, or not among the nodes; or the header is an edge.
    """
    columns = [str(roles.source), str(roles.target)]
    names = [names_in(table.frame[column]) for column in columns]
    check_edge_header(table, columns, lambda names: positions(names, ids))
    ends = np.stack([positions(name, ids) for name in names])
    unknown = UnknownEnds()
    unknown.add(columns, names, ends)
    unknown.check(table, nodes)
    return ends


def no_edges(table: SourceTable) -> TableError:
    """The error for a table of self-loops alone."""
    return table.error(
        "every edge is a self-loop, so that no node has a context",
        way_out="give edges between different nodes",
    )


def weights_of(table: SourceTable, column: str) -> NDArray[np.float64]:
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


def check_edge_header(
    table: SourceTable, columns: list[str], numbers: Callable[[Any], NDArray[np.int64]]
) -> None:
    """Check that the header is not made of two ids: it would be the first edge, and be lost.

    Args:
        table: The edges.
        columns: Those of the two ends.
        numbers: The numbers of the nodes with some names, -1 for none.

    Raises:
        TableError: It is.
    """
    usual = all(column.lower() in SOURCE + TARGET for column in columns)
    if not usual and (numbers(names_in(pd.Series(columns))) >= 0).all():
        raise table.error(
            "has no header, its first line is an edge",
            value=", ".join(columns),
            way_out="put a line with the columns' names before it, such as source,target",
        )


@dataclass
class UnknownEnds:
    """The ends of edges that are not ids of nodes: the first of them, and how many there are."""

    count: int = 0
    ends: int = 0
    row: int = 0
    column: str = ""
    name: str = ""

    def add(self, columns: list[str], names: list[Any], ends: NDArray[np.int64]) -> None:
        """Count those of more rows: their names, and their numbers (2, rows), -1 if unknown."""
        unknown = ends < 0
        if unknown.any() and not self.count:
            row = int(unknown.any(axis=0).argmax())
            side = int(unknown[:, row].argmax())
            self.row, self.column = self.ends // 2 + row, columns[side]
            self.name = names[side].iloc[row]
        self.count += int(unknown.sum())
        self.ends += unknown.size

    def check(self, table: SourceTable, nodes: str) -> None:
        """Check that there are none; `nodes` is the name of the table of nodes.

        Raises:
            TableError: There is one.
        """
        if self.count:
            raise self._error(table, nodes)

    def _error(self, table: SourceTable, nodes: str) -> TableError:
        if not self.name:
            way_out = "fill in the node's id, or delete the row"
            return table.error(
                "is empty", row=self.row, column=self.column, value="", way_out=way_out
            )
        way_out = f"add the node to {nodes}, or delete the edge"
        if self.count == self.ends:
            way_out = f"not one end is a known node: name the id column of {nodes} with `id` (--id)"
        return table.error(
            f"is not the id of a node in {nodes}{among(self.count, 'ends')}",
            row=self.row,
            column=self.column,
            value=self.name,
            way_out=way_out,
        )
