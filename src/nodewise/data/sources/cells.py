"""Cells of a column: as the text of a name, or as a number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nodewise.data.sources.source import SourceTable
from nodewise.data.sources.text_source import MISSING

_MISSING_WORDS = {word.lower() for word in MISSING if word} | {"unknown"}


def names_in(column: Any) -> Any:
    """The names in a column, as a pandas series of texts: ids, labels, categories.

    Names do not depend on how they were saved: spaces around them are removed, and 1, "1" and 1.0
    (to which pandas converts integers in a column with an empty cell) are all "1". An empty cell
    is "".
    """
    texts = column.astype("str").fillna("").str.strip()
    return texts.str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True)


def positions(names: Any, known: Any) -> NDArray[np.int64]:
    """The place of each name among the known ones, -1 if it is none of them.

    Arrow's look-up takes a third of the time of pandas'.
    """
    import pyarrow as pa
    from pyarrow import compute

    texts = pa.large_string()
    found = compute.index_in(pa.array(names, texts), value_set=pa.array(known, texts))
    return np.asarray(found.fill_null(-1), dtype=np.int64)


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Distinct names, sorted: by value if all of them are integers."""
    distinct = set(names)
    try:
        return tuple(sorted(distinct, key=lambda name: (int(name), name)))
    except ValueError:
        return tuple(sorted(distinct))


def looks_missing(name: str) -> bool:
    """Whether a name is also a usual word for a missing value, as NA is; it may mean Namibia."""
    return name.lower() in _MISSING_WORDS


def numbers_in(table: SourceTable, column: str, way_out: str) -> NDArray[np.float64]:
    """The numbers in a column, NaN where a cell is empty.

    Raises:
        TableError: A cell is not a number, or infinite; `way_out` goes with the former.
    """
    cells = table.frame[column]
    numbers = as_numbers(cells)
    bad = np.isnan(numbers) & ~is_empty(cells)
    if bad.any():
        row = int(bad.argmax())
        raise table.error(
            "is not a number", row=row, column=column, value=cells.iloc[row], way_out=way_out
        )
    infinite = np.isinf(numbers)
    if infinite.any():
        row = int(infinite.argmax())
        raise table.error(
            "is infinite",
            row=row,
            column=column,
            value=float(numbers[row]),
            way_out="write a number, or leave the cell empty",
        )
    return numbers


def as_numbers(cells: Any) -> NDArray[np.float64]:
    """Cells as numbers, NaN where one is empty or no number."""
    if not pd.api.types.is_numeric_dtype(cells.dtype):
        cells = pd.to_numeric(cells, errors="coerce")
    return np.asarray(cells.to_numpy(dtype=np.float64, na_value=np.nan))


def is_empty(cells: Any) -> NDArray[np.bool_]:
    """Where a cell is empty, or has a word for a missing number."""
    if pd.api.types.is_numeric_dtype(cells.dtype):
        return np.asarray(cells.isna())
    return np.asarray(cells.isna() | cells.astype("str").str.strip().isin(MISSING))
