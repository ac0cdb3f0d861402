"""The columns of a table in blocks: their facts, encoders and leaks, as of a table in memory.

A column of numbers is in memory as a whole, one at a time, so that its mean and deviation are the
same bits as those of a table in memory. Of other columns only distinct names are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from nodewise.data.encoders.category import CategoryColumn
from nodewise.data.encoders.encoder import Encoder
from nodewise.data.encoders.numeric import NumericColumn, numbers_of
from nodewise.data.encoders.words import WordsColumn
from nodewise.data.options import ReadOptions
from nodewise.data.sources.cells import as_numbers, is_empty, names_in
from nodewise.data.sources.source import SourceTable
from nodewise.data.streaming.names import hashes
from nodewise.data.streaming.table import Show, StreamedTable
from nodewise.data.tables.columns import MANY, ColumnFacts, Columns, is_foreign, is_numeric
from nodewise.data.tables.leaks import determined, leak_warning, most_values
from nodewise.data.tables.name_counts import NameCounts
from nodewise.data.tables.nodes import Labels


class StreamedColumns(Columns):
    """The columns of a table in blocks.

    Args:
        nodes: The table.
        options: How to read it.
        show: Called with the columns that were read.
    """

    def __init__(self, nodes: StreamedTable, options: ReadOptions, show: Show) -> None:
        super().__init__(nodes.block(None), options)
        self._nodes, self._show, self._seen = nodes, show, 0

    def facts(self, column: str) -> ColumnFacts:
        """The facts that decide whether a column is a feature."""
        self._seen += 1
        self._show("reading columns", self._seen, len(self._nodes.columns))
        numbers = self._nodes.numbers(column)
        if numbers is not None:
            return ColumnFacts(column, self._nodes.num_rows, numbers, numbers, 0, "", None, 0)
        found = _Facts(column)
        for table in self._blocks(column):
            found.add(table.frame[column])
        return found.facts

    def numbers(self, column: str) -> Encoder:
        """The encoder of a column of numbers."""
        numbers = np.concatenate([numbers_of(table, column) for table in self._blocks(column)])
        how = (self.options.missing, self.options.scale)
        return NumericColumn.of_numbers(self.table, column, numbers, *how)

    def names(self, column: str) -> Encoder:
        """The encoder of a column of categories."""
        found = NameCounts()
        for table in self._blocks(column):
            found.add(names_in(table.frame[column]))
        may_lack = self.options.missing != "error"
        return CategoryColumn.of_names(self.table, column, found, may_lack)

    def words(self, column: str) -> Encoder:
        """The encoder of a column of texts."""
        how = (self.options.text_as, self.options.max_vocabulary)
        return WordsColumn.of_blocks(self._blocks(column), column, *how)

    def leaks(self, encoders: tuple[Encoder, ...], labels: Labels) -> Iterator[str]:
        """The warnings of `leak_warnings`."""
        kinds = (CategoryColumn, NumericColumn)
        columns = [one.column for one in encoders if isinstance(one, kinds)]
        for column in columns:
            names = self._few_names(column, labels)
            share, count = (0.0, 0) if names is None else determined(names, labels)
            if share:
                yield leak_warning(column, columns, share, count)

    def _few_names(self, column: str, labels: Labels) -> Any:
        """The names of labeled nodes; None if they have too many distinct ones for labels."""
        names = np.full(self._nodes.num_rows, "", dtype=object)
        seen, most = set[str](), most_values(labels)
        for start, table in self._nodes.blocks([column]):
            known = np.flatnonzero(labels.y[start : start + len(table.frame)] >= 0)
            cells = table.frame[column].iloc[known]
            if is_numeric(cells) and cells.nunique() > most:
                return None  # before numbers become texts, which takes longer
            codes, distinct = pd.factorize(names_in(cells))
            seen.update(distinct)
            if len(seen - {""}) > most:
                return None
            names[start + known] = np.asarray(distinct, dtype=object)[codes]
        return pd.Series(names, dtype=object)

    def _blocks(self, column: str) -> Iterator[SourceTable]:
        return (table for _, table in self._nodes.blocks([column]))


class _Facts:
    """The facts of a column, gathered block by block."""

    def __init__(self, column: str) -> None:
        self._column, self._rows, self._given, self._numbers = column, 0, 0, 0
        self._foreign, self._first, self._first_text = "", None, -1
        self._names: set[str] | None = set()
        self._hashes = np.zeros(0, np.uint64)

    def add(self, cells: Any) -> None:
        """Take more cells into account."""
        if not self._rows:
            self._first = cells.iloc[0]
        given = ~is_empty(cells)
        text = np.zeros(len(cells), np.bool_)
        if is_foreign(cells):
            self._foreign = str(cells.dtype)
        elif not is_numeric(cells):
            text = np.isnan(as_numbers(cells))
            self._add_names(names_in(cells))
        if text.any() and self._first_text < 0:
            self._first_text = self._rows + int(text.argmax())
        self._given += int(given.sum())
        self._numbers += int((given & ~text).sum())
        self._rows += len(cells)

    def _add_names(self, names: Any) -> None:
        """Keep distinct names while they may be categories, then only their hashes, to count."""
        distinct = pd.Series(names.unique())
        distinct = distinct[distinct != ""]
        if self._names is not None:
            self._names.update(distinct)
            if len(self._names) > MANY:
                distinct, self._names = pd.Series(list(self._names), dtype="str"), None
        if self._names is None:
            self._hashes = np.union1d(self._hashes, hashes(distinct))

    @property
    def facts(self) -> ColumnFacts:
        """The facts."""
        distinct = len(self._hashes) if self._names is None else len(self._names)
        counts = (self._rows, self._given, self._numbers, 0 if self._foreign else distinct)
        first_text = max(self._first_text, 0)
        return ColumnFacts(self._column, *counts, self._foreign, self._first, first_text)
