"""Text tables: CSV, TSV and their kin, packed with gzip or not."""

from __future__ import annotations

import zlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from nodewise.data.sources.dialect import Dialect
from nodewise.data.sources.first_bytes import damaged_gzip, open_file, unreadable
from nodewise.data.sources.source import Source, Table
from nodewise.data.sources.text_lines import TextLines
from nodewise.errors import TableError

# What people write for a number they do not have. In columns of names only an empty cell is
# missing: NA is Namibia, None may be somebody's name.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "null", "NULL", "None")


class TextSource(Source):
    """A text file whose dialect is known.

    Arrow reads it: it is fast, refuses rows that are too short, where others fill them up, and
    infers a column's type from all of its cells.
    """

    def __init__(self, path: Path, dialect: Dialect) -> None:
        self.name, self.columns = str(path), dialect.columns
        self._path, self._dialect, self._lines = path, dialect, TextLines(path, dialect)

    def read(self, as_text: Collection[str]) -> Table:
        """Read all rows.

        Raises:
            TableError: A row has too few or too many cells, a quote does not end, it is not UTF-8,
                its gzip is damaged, or there are no rows.
        """
        try:
            self._lines.check_quotes()
            table = self._arrow(as_text)
        except (EOFError, zlib.error) as error:
            raise damaged_gzip(self._path) from error
        except OSError as error:
            raise unreadable(self._path, error) from error
        if table.num_rows == 0:
            raise TableError(
                self.name, "has a header and no rows", way_out="give a row for each node or edge"
            )
        return Table(self.name, table.to_pandas(), self._lines.place, self._lines.cell)

    def _arrow(self, as_text: Collection[str]) -> Any:
        import pyarrow as pa
        from pyarrow import csv

        convert = csv.ConvertOptions(
            column_types={name: pa.string() for name in as_text},
            null_values=MISSING,
            strings_can_be_null=False,
            decimal_point=self._dialect.decimal,
        )
        names, skip = list(self.columns), self._dialect.first_row
        read = csv.ReadOptions(column_names=names, skip_rows=skip)
        parse = csv.ParseOptions(delimiter=self._dialect.delimiter, newlines_in_values=True)
        try:
            with open_file(self._path) as stream:
                table = csv.read_csv(stream, read, parse, convert)
        except pa.ArrowInvalid as error:
            raise self._lines.diagnosis(error) from error
        if any(pa.types.is_binary(field.type) for field in table.schema):
            raise self._lines.diagnosis("bytes that are no text")
        return table
