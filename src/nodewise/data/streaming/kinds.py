"""The types of a text table's columns, found block by block, as Arrow finds them of all cells.

Arrow takes the first of some types that all cells of a column can be converted to. Whether they
can is decided in each block; a column has the first type that every block allows.
"""

from __future__ import annotations

import io
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv

from nodewise.data.sources.text_source import MISSING

_MISSING: Final = pa.array(MISSING)
_SPACE: Final = " \t"  # what Arrow removes around numbers, and nothing else
_OPTIONS: Final = csv.ConvertOptions()
_TRUE: Final = pa.array(_OPTIONS.true_values)
_BOOLEANS: Final = pa.array([*_OPTIONS.true_values, *_OPTIONS.false_values])
_TIMES: Final = (
    pa.date32(),
    pa.time32("s"),
    pa.timestamp("s"),
    pa.timestamp("s", "UTC"),
    pa.timestamp("ns"),
    pa.timestamp("ns", "UTC"),
)


class ColumnKind:
    """The type of one column.

    Args:
        decimal: The decimal sign.
    """

    def __init__(self, decimal: str) -> None:
        self._decimal = decimal
        self._possible: list[Any] = [pa.int64(), pa.bool_(), pa.float64(), *_TIMES]
        self._given, self._missing = 0, 0

    def see(self, texts: Any) -> None:
        """Take more cells into account."""
        given = texts.filter(compute.invert(_is_missing(texts)))
        self._given += len(given)
        self._missing += len(texts) - len(given)
        if len(given):
            first = given.slice(0, 1)
            likely = [kind for kind in self._possible if self._fits(first, kind)]
            self._possible = [kind for kind in likely if self._fits(given, kind)]

    @property
    def type(self) -> Any:
        """Arrow's type; integers with empty cells are floats, as pandas has them."""
        if not self._given:
            return pa.null()
        kind = self._possible[0] if self._possible else pa.string()
        return pa.float64() if pa.types.is_integer(kind) and self._missing else kind

    def cells(self, texts: Any) -> Any:
        """Cells as that type; booleans with empty cells are objects, as pandas has them."""
        kind = self.type
        if pa.types.is_null(kind):
            return pa.nulls(len(texts))
        if pa.types.is_string(kind):
            return texts
        if pa.types.is_boolean(kind):
            values = compute.is_in(texts, value_set=_TRUE)
            return compute.if_else(_is_missing(texts), pa.scalar(None, pa.bool_()), values)
        return self._converted(texts, self._possible[0]).cast(kind, safe=False)

    @property
    def numbers(self) -> int | None:
        """How many cells are numbers, of a column of numbers and empty cells; else None."""
        kind = self.type
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        return self._given if is_number else None

    @property
    def is_object(self) -> bool:
        """Whether pandas holds its cells as objects, whatever a block of them looks like."""
        return bool(pa.types.is_boolean(self.type) and self._missing)

    def _fits(self, texts: Any, kind: Any) -> bool:
        if pa.types.is_boolean(kind):
            return bool(compute.all(compute.is_in(texts, value_set=_BOOLEANS)).as_py())
        try:
            self._converted(texts, kind)
        except pa.ArrowInvalid:
            return False
        return True

    def _converted(self, texts: Any, kind: Any) -> Any:
        if kind in _TIMES:
            return _parsed(texts, kind)
        cells = compute.utf8_trim(texts, _SPACE)
        if self._decimal != "." and pa.types.is_floating(kind):
            if compute.any(compute.match_substring(cells, ".")).as_py():
                raise pa.ArrowInvalid("a decimal point")
            cells = compute.replace_substring(cells, self._decimal, ".")
        if self._missing:
            cells = compute.if_else(_is_missing(texts), pa.scalar(None, pa.string()), cells)
        return cells.cast(kind)


def _is_missing(texts: Any) -> Any:
    return compute.is_in(texts, value_set=_MISSING)


def _parsed(texts: Any, kind: Any) -> Any:
    """Cells converted by Arrow's reader itself, which knows more forms of times than its casts."""
    written = io.BytesIO()
    csv.write_csv(pa.table({"": texts}), written, csv.WriteOptions(include_header=False))
    convert = csv.ConvertOptions(column_types={"": kind}, null_values=MISSING)
    read = csv.ReadOptions(column_names=[""], use_threads=False)
    parse = csv.ParseOptions(ignore_empty_lines=False)
    table = csv.read_csv(io.BytesIO(written.getvalue()), read, parse, convert)
    return table.column(0).combine_chunks()


def frame_of(columns: dict[str, Any], objects: set[str]) -> Any:
    """A pandas frame of Arrow arrays; the columns `objects` hold Python's objects."""
    frame = pa.table(columns).to_pandas()
    for name in objects & columns.keys():
        cells = frame[name].astype(object)
        frame[name] = cells.where(~np.asarray(cells.isna()), None)
    return frame
