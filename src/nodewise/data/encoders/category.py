"""Categories: one feature for each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from nodewise.data.encoders.encoder import EncodedColumn, Encoder
from nodewise.data.sources.cells import in_order, names_in, positions
from nodewise.data.sources.source import SourceTable, among


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
        names = names_in(table.frame[column]).unique()
        encoder = cls(column, in_order(name for name in names if name), may_lack)
        encoder._names_in(table)
        return encoder

    @property
    def names(self) -> tuple[str, ...]:
        """Each category beside the column's name."""
        return tuple(f"{self.column}={category}" for category in self.categories)

    def encode(self, table: SourceTable) -> EncodedColumn:
        """A feature for each category.

        Raises:
            TableError: A cell is empty and must not be.
        """
        names = self._names_in(table)
        found = positions(names, self.categories)
        rows = np.flatnonzero(found >= 0)
        shape = (len(found), len(self.categories))
        ones = np.ones(len(rows), np.float32)
        empty = np.asarray(names == "")
        unknown = Counter(names[(found < 0) & ~empty])
        matrix = csr_matrix((ones, (rows, found[rows])), shape)
        return EncodedColumn(matrix, unknown, int(empty.sum()), "no category")

    def _names_in(self, table: SourceTable) -> Any:
        names = names_in(table.frame[self.column])
        empty = np.asarray(names == "")
        if not self.may_lack and empty.any():
            raise table.error(
                f"is empty{among(int(empty.sum()), 'cells')}",
                row=int(empty.argmax()),
                column=self.column,
                value="",
                way_out="fill it in, or choose missing (--missing): zero, for no category",
            )
        return names
