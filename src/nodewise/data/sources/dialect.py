"""The dialect of a text table: its delimiter, its header, its decimal sign."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from nodewise.errors import TableError

_DELIMITERS = (",", "\t", ";")
_NUMBER = re.compile(r"\s*-?\d+(\.\d+)?\s*")
_DECIMAL_COMMA = re.compile(r"(?<=;)\s*-?\d+,\d+\s*(?=;|\r|\n|$)")
_DECIMAL_POINT = re.compile(r"(?<=;)\s*-?\d+\.\d+\s*(?=;|\r|\n|$)")


@dataclass(frozen=True)
class Dialect:
    """How to read a text table.

    Args:
        delimiter: The character between cells.
        columns: The names of the columns.
        first_row: How many lines come before the first row.
        decimal: The decimal sign.
    """

    delimiter: str
    columns: tuple[str, ...]
    first_row: int = 1
    decimal: str = "."


def find_dialect(path: Path, head: bytes, *, header: bool = True) -> Dialect:
    """The dialect of a text, from its first bytes.

    The delimiter is the one that splits the header into most columns: unlike a guess from
    frequencies, commas in texts do not mislead it.

    Args:
        path: The file, for errors.
        head: Its first bytes.
        header: Whether it must have one; an edge list without one begins with a line of numbers.

    Raises:
        TableError: It is not UTF-8, has one column only, or two of one name.
    """
    text = _decode(path, head)
    if not header:
        bare = _without_header(text)
        if bare is not None:
            return bare
    delimiter = max(_DELIMITERS, key=lambda sign: _fitness(text, sign))
    (names, lines), *_ = _records(text, delimiter)
    columns = tuple(name.strip() or f"(unnamed {i})" for i, name in enumerate(names, 1))
    _check_columns(path, columns, lines)
    return Dialect(delimiter, columns, lines, _decimal(text, delimiter))


def _decode(path: Path, head: bytes) -> str:
    # Incrementally, since the sample may end within a character.
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        return decoder.decode(head)
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        raise not_utf8(path, before.count(b"\n") + 1, error.object[error.start]) from error


def not_utf8(path: Path, line: int, byte: int) -> TableError:
    """The error for a byte that UTF-8 does not have there."""
    return TableError(
        str(path),
        "is not UTF-8",
        row=f"line {line}",
        value=bytes([byte]),
        way_out="save it as UTF-8, for instance with iconv -f latin1 -t utf-8",
    )


def _fitness(text: str, delimiter: str) -> tuple[int, bool]:
    """How many columns the header has with a delimiter, and whether the first row has as many."""
    (header, _), *rest = _records(text, delimiter)
    return len(header), len(rest) == 1 and len(rest[0][0]) == len(header)


def _records(text: str, delimiter: str) -> list[tuple[list[str], int]]:
    """The first two lines that are not blank, as cells, and the number of lines up to their end."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        found = list(islice(((cells, reader.line_num) for cells in reader if cells), 2))
    except csv.Error:
        found = []
    return found or [([""], 1)]


def _without_header(text: str) -> Dialect | None:
    """The dialect of an edge list that begins with numbers, after comments; else None."""
    lines = text.splitlines()
    comments = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    for delimiter in (*_DELIMITERS, " "):
        rows = [line.split(delimiter) for line in islice(lines, comments, comments + 20) if line]
        widths = {len(row) for row in rows[:-1] or rows}
        if widths and min(widths) > 1 and all(_NUMBER.fullmatch(cell) for cell in rows[0]):
            return Dialect(delimiter, _edge_columns(len(rows[0])), comments)
    return None


def _edge_columns(count: int) -> tuple[str, ...]:
    return ("source", "target", *(f"column_{i}" for i in range(3, count + 1)))


def _check_columns(path: Path, columns: tuple[str, ...], line: int) -> None:
    if len(columns) == 1:
        raise TableError(
            str(path),
            "has one column only; neither comma nor tab nor semicolon splits its header",
            row=f"line {line}",
            value=columns[0],
            way_out="put one of them between the columns",
        )
    name, count = Counter(columns).most_common(1)[0]
    if count > 1:
        raise TableError(
            str(path),
            f"has {count} columns of this name",
            row=f"line {line}",
            column=name,
            way_out="give every column a unique name",
        )


def _decimal(text: str, delimiter: str) -> str:
    """A comma where cells between semicolons are written so, as in much of Europe."""
    commas = delimiter == ";" and _DECIMAL_COMMA.search(text) and not _DECIMAL_POINT.search(text)
    return "," if commas else "."
