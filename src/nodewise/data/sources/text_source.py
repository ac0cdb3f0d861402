"""Text tables: CSV and TSV, compressed with gzip or not."""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from nodewise.data.sources.dialect import Dialect, not_utf8
from nodewise.data.sources.input_file import damaged_gzip, unpacked, unreadable
from nodewise.data.sources.source import Source, SourceTable, among
from nodewise.errors import TableError

# Usual texts for a missing number. In columns of names only an empty cell is
# missing: NA is Namibia, and None may be a name.
_CHUNK, _LONGEST = 1 << 20, 1 << 24  # bytes
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "null", "NULL", "None")


class TextSource(Source):
    """A text file whose dialect is known.

    Arrow reads it: it is fast, refuses rows that are too short, where others fill them up, and
    infers a column's type from all of its cells.
    """

    def __init__(self, path: Path, dialect: Dialect) -> None:
        self.name, self.columns = str(path), dialect.columns
        self._path, self._dialect, self._lines = path, dialect, TextLines(path, dialect)

    def read(self, as_text: Collection[str]) -> SourceTable:
        """Read all rows.

        Raises:
            TableError: A row has too few or too many cells, a quote does not end, it is not UTF-8,
                its gzip is damaged, or there are no rows.
        """
        try:
            with unpacked(self._path) as stream:
                self._lines.check_quotes(stream)
                stream.seek(0)
                table = self._arrow(stream, as_text)
        except (EOFError, zlib.error) as error:
            raise damaged_gzip(self._path) from error
        except OSError as error:
            raise unreadable(self._path, error) from error
        if table.num_rows == 0:
            raise self._no_rows()
        if self._dialect.first_row:
            self._check_no_header_within(table)
        return self.block(table.to_pandas())

    def stream(self, size: int) -> Iterator[tuple[Any, int]]:
        """All rows in Arrow batches, every cell a text, each with the bytes read up to then.

        Args:
            size: How many bytes of the file make a batch; no row may be longer.

        Raises:
            TableError: As `read`.
        """
        try:
            with unpacked(self._path) as stream:
                self._lines.check_quotes(stream)
                stream.seek(0)
                yield from self._batches(stream, size)
        except (EOFError, zlib.error) as error:
            raise damaged_gzip(self._path) from error
        except OSError as error:
            raise unreadable(self._path, error) from error

    def _batches(self, stream: BinaryIO, size: int) -> Iterator[tuple[Any, int]]:
        import pyarrow as pa
        from pyarrow import csv

        read, parse = self._how()
        read.block_size = size
        texts = dict.fromkeys(self.columns, pa.string())
        convert = csv.ConvertOptions(column_types=texts, strings_can_be_null=False)
        rows = 0
        try:
            for batch in csv.open_csv(stream, read, parse, convert):
                if self._dialect.first_row:
                    self._check_no_header_within(pa.Table.from_batches([batch]), rows)
                rows += batch.num_rows
                yield batch, stream.tell()
        except pa.ArrowInvalid as error:
            if "Empty CSV" not in str(error):
                raise self._lines.diagnosis(error) from error
        if rows == 0:
            raise self._no_rows()

    @property
    def decimal(self) -> str:
        """The decimal sign."""
        return self._dialect.decimal

    def block(self, frame: Any, start: int = 0) -> SourceTable:
        """Rows from `start` on as a table that knows where they are in the file."""
        place, cell = self._lines.place, self._lines.cell
        return SourceTable(
            self.name, frame, lambda row: place(start + row), lambda row, of: cell(start + row, of)
        )

    def _no_rows(self) -> TableError:
        return TableError(
            self.name, "has a header and no rows", way_out="give a row for each node or edge"
        )

    def _how(self) -> tuple[Any, Any]:
        from pyarrow import csv

        names, skip = list(self.columns), self._dialect.first_row
        parse = csv.ParseOptions(delimiter=self._dialect.delimiter, newlines_in_values=True)
        return csv.ReadOptions(column_names=names, skip_rows=skip), parse

    def _check_no_header_within(self, table: Any, start: int = 0) -> None:
        """Check that no row equals the header, as where files were joined with theirs."""
        rows = _rows_equal(table, self.columns)
        if rows:
            raise TableError(
                self.name,
                f"the header again, as where files are joined{among(len(rows), 'lines')}",
                row=self._lines.place(start + rows[0]),
                value=self._dialect.delimiter.join(self.columns),
                way_out="delete the line; to join files, leave out the header of the second: "
                "(cat a.csv; tail -n +2 b.csv) > both.csv",
            )

    def _arrow(self, stream: BinaryIO, as_text: Collection[str]) -> Any:
        import pyarrow as pa
        from pyarrow import csv

        convert = csv.ConvertOptions(
            column_types={name: pa.string() for name in as_text},
            null_values=MISSING,
            strings_can_be_null=False,
            decimal_point=self._dialect.decimal,
        )
        read, parse = self._how()
        try:
            table = csv.read_csv(stream, read, parse, convert)
        except pa.ArrowInvalid as error:
            raise self._lines.diagnosis(error) from error
        if any(pa.types.is_binary(field.type) for field in table.schema):
            raise self._lines.diagnosis("bytes that are not text")
        return table


def _rows_equal(table: Any, cells: Sequence[str]) -> list[int]:
    """The numbers of the rows of an Arrow table that have these cells."""
    rows = np.flatnonzero(_where_equal(table.column(0), cells[0]))
    for column, cell in zip(table.columns[1:], cells[1:], strict=True):
        if not rows.size:
            break
        rows = rows[_where_equal(column.take(rows), cell)]
    return [int(row) for row in rows]


def _where_equal(column: Any, cell: str) -> NDArray[np.bool_]:
    """Where an Arrow column has a cell of the header; most columns of numbers cannot have it."""
    import pyarrow as pa
    from pyarrow import compute

    written = "" if cell.startswith("(unnamed ") else cell
    if not written and not pa.types.is_string(column.type):
        return np.asarray(column.is_null())
    if pa.types.is_string(column.type):
        column = compute.utf8_trim_whitespace(column)
    try:
        value = pa.scalar(written).cast(column.type)
    except pa.ArrowException:
        return np.zeros(len(column), np.bool_)
    return np.asarray(compute.equal(column, value).fill_null(False))


@dataclass(frozen=True)
class TextLines:
    """A text table, line by line: slower, and only to say where an error is.

    Lines count from 1; a quoted cell may span several.
    """

    path: Path
    dialect: Dialect

    def place(self, row: int) -> str:
        """The line where a row starts; rows count from 0."""
        starts = (start for start, cells in self._records() if cells)
        try:
            return f"line {next(islice(starts, row, None))}"
        except TableError:  # a cell beyond the module's limit of 128 KB
            return f"row {row + 1}"

    def cell(self, row: int, column: str) -> str:
        """A cell as it is written; rows count from 0."""
        records = (cells for _, cells in self._records() if cells)
        try:
            return next(islice(records, row, None))[self.dialect.columns.index(column)].strip()
        except TableError:  # a cell before it is beyond the module's limit of 128 KB
            return ""

    def check_quotes(self, stream: BinaryIO) -> None:
        """Check that every quote ends: one that does not turns the rest of the file into a cell.

        Args:
            stream: The file, from its first byte.

        Raises:
            TableError: A quote does not end, or a line has no end for many megabytes.
        """
        count = 0
        for chunk in self._bounded(stream):
            count += chunk.count(b'"')
        if count % 2:  # a lone quote within a cell, 5" long, is harmless
            from_start = replace(self.dialect, first_row=0)
            for _ in TextLines(self.path, from_start)._records(strict=True):
                pass

    def _bounded(self, stream: BinaryIO) -> Iterator[bytes]:
        """The file in chunks, as long as its lines end: readers have to hold a line in memory.

        A few bytes of gzip may be a line of gigabytes.
        """
        line, length = 1, 0
        while chunk := stream.read(_CHUNK):
            last = chunk.rfind(b"\n")
            length = length + len(chunk) if last < 0 else len(chunk) - last - 1
            line += chunk.count(b"\n")
            if length > _LONGEST:
                problem = f"has no end after {_LONGEST >> 20} megabytes"
                raise self._error(line, problem)
            yield chunk

    def diagnosis(self, reason: object) -> TableError:
        """The error for a file that Arrow cannot read; it has `reason` if no line is wrong."""
        return self._bad_bytes() or self._bad_width() or self._unknown(reason)

    def _records(self, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """The line where each record after the header starts, and its cells."""
        skipped = self.dialect.first_row
        with unpacked(self.path) as stream:
            text = io.TextIOWrapper(stream, "utf-8-sig", errors="replace", newline="")
            for _ in range(skipped):
                text.readline()
            reader = csv.reader(text, delimiter=self.dialect.delimiter, strict=strict)
            start = skipped + 1
            try:
                for cells in reader:
                    yield start, cells
                    start = skipped + reader.line_num + 1
            except csv.Error as error:
                raise self._error(start, f"cannot be split into cells: {error}") from error

    def _bad_bytes(self) -> TableError | None:
        with unpacked(self.path) as stream:
            for line, content in enumerate(stream, 1):
                try:
                    content.decode("utf-8-sig")
                except UnicodeDecodeError as error:
                    return not_utf8(self.path, line, content[error.start])
        return None

    def _bad_width(self) -> TableError | None:
        expected = len(self.dialect.columns)
        for start, cells in self._records():
            if cells and len(cells) != expected:
                problem = f"has {len(cells)} cells where {expected} columns are"
                return self._error(start, problem, self.dialect.delimiter.join(cells))
        return None

    def _unknown(self, reason: object) -> TableError:
        return TableError(
            str(self.path), f"cannot be read ({reason})", way_out="check how it is written"
        )

    def _error(self, line: int, problem: str, value: object = None) -> TableError:
        return TableError(
            str(self.path),
            problem,
            row=f"line {line}",
            value=value,
            way_out=f"correct the line; quote a cell with {self.dialect.delimiter!r} in it",
        )
