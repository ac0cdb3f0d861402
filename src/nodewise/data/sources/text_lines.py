"""Where in a text table a row stands, and what is wrong with a line: read slowly, to say so."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from nodewise.data.sources.dialect import Dialect, not_utf8
from nodewise.data.sources.first_bytes import open_file
from nodewise.errors import TableError


@dataclass(frozen=True)
class TextLines:
    """A text table, line by line. Lines count from 1; a quoted cell may span several."""

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

    def check_quotes(self) -> None:
        """Check every quote to end: one that does not swallows the rest of the file in silence.

        Raises:
            TableError: One does not.
        """
        count = 0
        with open_file(self.path) as stream:
            while chunk := stream.read(1 << 20):
                count += chunk.count(b'"')
        if count % 2:  # a lone quote within a cell, 5" long, is harmless
            whole = replace(self.dialect, first_row=0)
            for _ in TextLines(self.path, whole)._records(strict=True):
                pass

    def diagnosis(self, reason: object) -> TableError:
        """What is wrong with a file that cannot be read; `reason` is said if nothing is found."""
        return self._bad_bytes() or self._bad_width() or self._unknown(reason)

    def _records(self, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """The line where each record after the header starts, and its cells."""
        skipped = self.dialect.first_row
        with open_file(self.path) as stream:
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
        with open_file(self.path) as stream:
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
            way_out=f"mend the line; a cell with {self.dialect.delimiter!r} in it goes in quotes",
        )
