"""Features of a table in blocks: encoders are fitted in one pass, and applied in another."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.data.encoders.degree import DEGREE, DegreeColumn
from nodewise.data.options import ReadOptions, Roles
from nodewise.data.streaming.budget import Budget
from nodewise.data.streaming.columns import StreamedColumns
from nodewise.data.streaming.table import Show, StreamedTable
from nodewise.data.tables.columns import choose, no_features
from nodewise.data.tables.nodes import Labels, ids_of
from nodewise.data.tables.preprocessing import EncodedTable, Preprocessing
from nodewise.data.writers.arrays import dense_chunks


@dataclass(frozen=True, eq=False)
class FittedNodes:
    """How the features are made, and what is to be said of it.

    Attributes:
        preprocessing: The encoders; without any, degrees are the features.
        left_out: The columns that are not features, each with the reason.
        warnings: Columns that copy the label.
    """

    preprocessing: Preprocessing
    left_out: Mapping[str, str]
    warnings: tuple[str, ...]


def fit_nodes(
    table: StreamedTable,
    roles: Roles,
    options: ReadOptions,
    labels: Labels,
    neighbors: NDArray[np.int64],
    show: Show,
) -> FittedNodes:
    """Fit an encoder to each column that becomes a feature.

    Args:
        table: The nodes.
        roles: Their columns.
        options: Which columns become features, and how.
        labels: The labels.
        neighbors: How many neighbors each node has: its feature where no column is one.
        show: Called with what is read.

    Raises:
        TableError: A column cannot be what it was named for, or there is none.
    """
    columns = StreamedColumns(table, options, show)
    choice = choose(columns, table.columns, (roles.id, roles.label, roles.split))
    if not choice.encoders and choice.left_out:
        raise no_features(table.block(None), choice.left_out)
    encoders = choice.encoders or (DegreeColumn.fit(table.block(_degrees(neighbors))),)
    fitted = Preprocessing(encoders, labels.class_names, roles, options.directed)
    warnings = tuple(columns.leaks(encoders, labels))
    return FittedNodes(fitted, dict(choice.left_out), warnings)


@dataclass(frozen=True, eq=False)
class NodeBlock:
    """Some nodes.

    Attributes:
        start: The first of them.
        x: Their features.
        ids: Their names, as the table has them.
    """

    start: int
    x: NDArray[np.float32]
    ids: tuple[Any, ...]


class NodeEncoder:
    """Encodes a table in blocks, and gathers what was unknown or empty.

    Args:
        fitted: The encoders.
        roles: The columns.
        neighbors: How many neighbors each node has.
        budget: The memory.
    """

    def __init__(
        self, fitted: Preprocessing, roles: Roles, neighbors: NDArray[np.int64], budget: Budget
    ) -> None:
        self._fitted, self._id, self._neighbors = fitted, str(roles.id), neighbors
        self._rows = budget.rows_of(len(fitted.feature_names))
        self._unknown: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._doubtful: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._empty: Counter[str] = Counter()
        self._counts_as: dict[str, str] = {}

    def blocks(self, table: StreamedTable) -> Iterator[NodeBlock]:
        """The features of all nodes, in order.

        Raises:
            TableError: A column is not there, or a cell cannot be read as before.
        """
        wanted = {column for encoder in self._fitted.encoders for column in encoder.columns}
        columns = [name for name in table.columns if name in wanted or name == self._id]
        for first, whole in table.blocks(columns):
            for start in range(first, first + len(whole.frame), self._rows):
                frame = whole.frame.iloc[start - first : start - first + self._rows]
                rows = slice(start, start + len(frame))
                degrees = {DEGREE: self._neighbors[rows]}
                block = table.block(frame.reset_index(drop=True).assign(**degrees), start)
                encoded = self._fitted.encode(block)
                self._note(encoded)
                x = np.concatenate([chunk for _, chunk in dense_chunks(encoded.matrix)])
                yield NodeBlock(start, x, ids_of(block, self._id))

    @property
    def notes(self) -> EncodedTable:
        """The unknown names and empty cells of all blocks together."""
        columns = [encoder.column for encoder in self._fitted.encoders]
        unknown = {name: self._unknown[name] for name in columns if name in self._unknown}
        doubtful = {name: self._doubtful[name] for name in columns if name in self._doubtful}
        counts = {name: self._empty[name] for name in columns if name in self._empty}
        empty = {name: (count, self._counts_as[name]) for name, count in counts.items()}
        return EncodedTable(None, unknown, empty, doubtful)

    def _note(self, encoded: EncodedTable) -> None:
        for column, counts in encoded.unknown.items():
            self._unknown[column].update(counts)
        for column, counts in encoded.doubtful.items():
            self._doubtful[column].update(counts)
        for column, (count, counts_as) in encoded.empty.items():
            self._empty[column] += count
            self._counts_as[column] = counts_as


def _degrees(neighbors: NDArray[np.int64]) -> Any:
    import pandas as pd

    return pd.DataFrame({DEGREE: neighbors})
