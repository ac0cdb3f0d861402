"""Categories: one feature for each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from nodewise.data.encoders.encoder import EncodedColumn, Encoder
from nodewise.data.sources.cells import in_order, looks_missing, names_in, positions
from nodewise.data.sources.source import SourceTable, among
from nodewise.data.tables.name_counts import NameCounts
from nodewise.errors import TableError


@dataclass(frozen=True)
class CategoryColumn(Encoder):
    """A column of names, one-hot; a category that is not known has no feature.

    Args:
        column: The column.
        categories: The names.
        may_lack: Whether a cell may be empty; it then has no category.
    """

    kind: ClassVar[str] = "categorical"
    categories: tuple[str, ...] = ()
    may_lack: bool = False

    @classmethod
    def fit(cls, table: SourceTable, column: str, may_lack: bool) -> CategoryColumn:
        """Learn the categories.

        Raises:
            TableError: A cell is empty and must not be.
        """
        found = NameCounts.of(names_in(table.frame[column]))
        return cls.of_names(table, column, found, may_lack)

    @classmethod
    def of_names(
        cls, table: SourceTable, column: str, found: NameCounts, may_lack: bool
    ) -> CategoryColumn:
        """The same from the names that all rows have; the table is for errors.

        Raises:
            TableError: A cell is empty and must not be.
        """
        if not may_lack and found.empty:
            raise _empty(table, column, found.empty, found.first_empty)
        return cls(column, in_order(found.counts), may_lack)

    @property
    def names(self) -> tuple[str, ...]:
        """Each category beside the column's name."""
        return tuple(f"{self.column}={category}" for category in self.categories)

    def encode(self, table: SourceTable) -> EncodedColumn:
        """A feature for each category.

        Raises:
            TableError: A cell is empty and must not be.
        """
        names = names_in(table.frame[self.column])
        found = positions(names, self.categories)
        rows = np.flatnonzero(found >= 0)
        shape = (len(found), len(self.categories))
        ones = np.ones(len(rows), np.float32)
        empty = np.asarray(names == "")
        if not self.may_lack and empty.any():
            raise _empty(table, self.column, int(empty.sum()), int(empty.argmax()))
        unknown = Counter(names[(found < 0) & ~empty])
        doubtful = {
            name: int((names == name).sum()) for name in filter(looks_missing, self.categories)
        }
        matrix = csr_matrix((ones, (rows, found[rows])), shape)
        return EncodedColumn(matrix, unknown, int(empty.sum()), "no category", doubtful)


def _empty(table: SourceTable, column: str, count: int, first: int) -> TableError:
    return table.error(
        f"is empty{among(count, 'cells')}",
        row=first,
        column=column,
        value="",
        way_out="fill it in, or choose missing (--missing): zero, for no category",
    )
