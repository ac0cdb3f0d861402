"""Labels that are numbers to predict, and no classes."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from nodewise.data.sources.cells import as_numbers
from nodewise.data.sources.source import SourceTable
from nodewise.data.tables.name_counts import NameCounts

WAY_OUT: Final = (
    "put the numbers into bins, or use localized layers in a model of your own "
    "(docs/limits.md, regression)"
)
_FEWEST = 10  # labeled nodes: of fewer nothing can be said
_MOST_FRACTIONS = 50  # classes may be called 0.5, 1.0, 1.5, ...; so many are measurements


def check_is_classes(table: SourceTable, column: str, found: NameCounts) -> None:
    """Check that labels are not measurements: numbers with nearly as many values as nodes.

    Args:
        table: The nodes.
        column: The column of labels.
        found: How often each name of a class occurs.

    Raises:
        TableError: They are numbers to predict.
    """
    distinct, given = len(found.counts), found.given
    if given < _FEWEST:
        return
    numbers = as_numbers(pd.Series(list(found.counts), dtype="str"))
    if np.isnan(numbers).any():
        return
    has_fractions = bool((numbers != np.rint(numbers)).any())
    if distinct > given / 2 or (has_fractions and distinct > _MOST_FRACTIONS):
        name = next(iter(found.counts))
        raise table.error(
            f"has {distinct:,} different numbers on {given:,} nodes, so it is a number to "
            "predict (regression), and nodewise predicts classes",
            row=found.first[name],
            column=column,
            value=name,
            way_out=f"{WAY_OUT}; or name the right column with `label` (--label)",
        )
