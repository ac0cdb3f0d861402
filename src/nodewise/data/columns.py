"""Which columns become features, and how."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nodewise.data.cells import as_numbers, is_empty, names_in
from nodewise.data.encoders.category import CategoryColumn
from nodewise.data.encoders.encoder import Encoder
from nodewise.data.encoders.numeric import NumericColumn
from nodewise.data.encoders.words import WordsColumn
from nodewise.data.options import Wish
from nodewise.data.sources.source import Source, Table, listed
from nodewise.errors import TableError

FEW, MANY = 50, 1000  # categories taken by default, in long tables, and at most


@dataclass(frozen=True)
class Choice:
    """The encoders of a table, and the columns left out, each with the reason."""

    encoders: tuple[Encoder, ...]
    left_out: tuple[tuple[str, str], ...] = ()


def check_wish(nodes: Source, wish: Wish, taken: Collection[str | None]) -> None:
    """Check the columns asked for to be there, and to be neither id, label nor split.

    Raises:
        TableError: One is not, or is.
    """
    for column in (*wish.text, *(wish.features or ())):
        nodes.column(column, "features")
        if column in taken:
            raise TableError(
                nodes.name,
                "is the id, the label or the split, and no feature",
                column=column,
                way_out="leave it out of the features",
            )


def choose(table: Table, wish: Wish, taken: Collection[str | None]) -> Choice:
    """Fit an encoder to each column that was asked for, or that can be a feature by itself.

    Args:
        table: The nodes.
        wish: What was asked for; without `features`, all numbers and few-valued names are taken.
        taken: Columns that are something else.

    Raises:
        TableError: A column cannot be what it was asked to be, or mixes numbers with other things.
    """
    texts = [
        WordsColumn.fit(table, column, wish.text_as, wish.max_vocabulary) for column in wish.text
    ]
    if wish.features is not None:
        asked = [name for name in wish.features if name not in wish.text]
        return Choice((*(_asked(table, name, wish) for name in asked), *texts))
    free = [name for name in table.frame.columns if name not in (*taken, *wish.text)]
    encoders: list[Encoder] = []
    left_out: list[tuple[str, str]] = []
    for column in free:
        reason = _reason_against(table.frame[column], column)
        if reason is None:
            encoders.append(_fit(table, column, wish))
        else:
            left_out.append((column, reason))
    return Choice((*encoders, *texts), tuple(left_out))


def _asked(table: Table, column: str, wish: Wish) -> Encoder:
    cells = table.frame[column]
    if is_empty(cells).all():
        raise table.error("is empty", column=column, way_out="leave it out of the features")
    if _is_foreign(cells):
        raise table.error(
            f"is neither a number nor a name but {cells.dtype}",
            column=column,
            value=cells.iloc[0],
            way_out="leave it out of the features, or make numbers of it",
        )
    distinct = 0 if _is_numeric(cells) else names_in(cells).nunique()
    if distinct > MANY:
        raise table.error(
            f"is not a number, and {distinct} distinct texts are too many for categories",
            row=int(np.isnan(as_numbers(cells)).argmax()),
            column=column,
            value=cells.iloc[0],
            way_out="leave it out of the features, or name it in text to use its words",
        )
    return _fit(table, column, wish)


def _fit(table: Table, column: str, wish: Wish) -> Encoder:
    """The encoder of a column; one that is mostly numbers must be numbers throughout."""
    if _is_mostly_numbers(table.frame[column]):
        return NumericColumn.fit(table, column, wish.missing, wish.scale)
    return CategoryColumn.fit(table, column, may_lack=wish.missing != "error")


def _reason_against(cells: Any, column: str) -> str | None:
    """Why a column is no feature by itself; None if it is one."""
    if column.startswith("(unnamed") or column.startswith("__index"):
        return "has no name, perhaps a saved index"
    if is_empty(cells).all():
        return "is empty"
    if _is_foreign(cells):
        return f"is neither numbers nor names ({cells.dtype})"
    if _is_mostly_numbers(cells):
        return None
    names = names_in(cells)
    distinct = names[names != ""].nunique()
    # A name that hardly any other row has tells nodes apart, and nothing about them.
    if distinct <= min(FEW, len(names) / 2):
        return None
    return f"has {distinct} distinct texts; name it in `text` (--text) to use its words"


def _is_numeric(cells: Any) -> bool:
    return bool(pd.api.types.is_numeric_dtype(cells.dtype)) and cells.dtype.kind != "c"


def _is_mostly_numbers(cells: Any) -> bool:
    if _is_numeric(cells):
        return True
    given = ~is_empty(cells)
    numbers = ~np.isnan(as_numbers(cells))
    return bool(numbers[given].sum() > given.sum() / 2)


def _is_foreign(cells: Any) -> bool:
    """Dates, lists and other things that are neither numbers nor names."""
    if _is_numeric(cells) or isinstance(cells.dtype, pd.CategoricalDtype | pd.StringDtype):
        return False
    plain = cells.dtype == object and cells.dropna().map(type).isin((str, bool, int, float)).all()
    return not plain


def no_features(table: Table, left_out: Collection[tuple[str, str]]) -> TableError:
    """The error for a table of which no column can be a feature."""
    reasons = listed([f"{column!r} {reason}" for column, reason in left_out])
    return table.error(
        f"no column can be a feature: {reasons}",
        way_out="name one in text, or give no features (an empty list) to use degrees",
    )
