"""Labels that are numbers to predict, and no classes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from nodewise.data.sources.cells import as_numbers, names_in
from nodewise.data.sources.source import SourceTable

WAY_OUT: Final = (
    "put the numbers into bins, or use localized layers in a model of your own "
    "(docs/limits.md, regression)"
)
_FEWEST = 10  # labeled nodes: of fewer nothing can be said
_MOST_FRACTIONS = 50  # classes may be called 0.5, 1.0, 1.5, ...; so many are measurements


def check_is_classes(table: SourceTable, column: str, names: Any) -> None:
    """Check that labels are no measurements: numbers with nearly as many values as nodes.

    Args:
        table: The nodes.
        column: The column of labels.
        names: Its cells as texts, "" where there is no label.

    Raises:
        TableError: They are numbers to predict.
    """
    given = names[names != ""]
    distinct = given.nunique()
    numbers = as_numbers(given)
    if len(given) < _FEWEST or np.isnan(numbers).any():
        return
    has_fractions = bool((numbers != np.rint(numbers)).any())
    if distinct > len(given) / 2 or (has_fractions and distinct > _MOST_FRACTIONS):
        row = int((names == given.iloc[0]).argmax())
        raise table.error(
            f"has {distinct:,} different numbers on {len(given):,} nodes, so it is a number to "
            "predict (regression), and nodewise predicts classes",
            row=row,
            column=column,
            value=names_in(table.frame[column]).iloc[row],
            way_out=f"{WAY_OUT}; or name the right column with `label` (--label)",
        )
