"""Feature columns that copy the label, as a topic's number copies its name."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nodewise.data.encoders.category import CategoryColumn
from nodewise.data.encoders.encoder import Encoder
from nodewise.data.encoders.numeric import NumericColumn
from nodewise.data.sources.cells import names_in
from nodewise.data.sources.source import SourceTable, counted
from nodewise.data.tables.nodes import Labels

_SHARE = 0.99  # of the labeled nodes have the label that their value says
_OF_A_CLASS = 0.95  # the same, as a mean over classes: one large class is easily right
_VALUES = 3  # for each class at most
_NODES = 5  # for each value at least: of fewer, all have one label by chance
_NAMED = 12  # columns that are listed


def leak_warnings(
    nodes: SourceTable, labels: Labels, encoders: Collection[Encoder]
) -> Iterator[str]:
    """A sentence for each feature column whose values stand for the labels, one for one.

    Columns of texts are left out, and so are ids and numbers of many values.

    Args:
        nodes: The table.
        labels: The nodes' labels.
        encoders: Those of the feature columns.
    """
    columns = [one.column for one in encoders if isinstance(one, CategoryColumn | NumericColumn)]
    for column in columns:
        share, count = determined(names_in(nodes.frame[column]), labels)
        if share:
            yield leak_warning(column, columns, share, count)


def leak_warning(column: str, columns: Sequence[str], share: float, count: int) -> str:
    """The sentence for a column that stands for the labels.

    Args:
        column: The column.
        columns: All columns that can.
        share: The share of labeled nodes whose label follows from the value.
        count: How many have both.
    """
    rest = ",".join(name for name in columns if name != column)
    listed = rest if len(columns) <= _NAMED else "with all other columns"
    return (
        f"column {column!r} determines the label on {100 * share:.1f} % of "
        f"{counted(count, 'labeled node')}; if it is made from the label, scores mean "
        f"nothing: leave it out with `features` (--features {listed or repr('')})"
    )


def most_values(labels: Labels) -> int:
    """How many distinct values a column may have that stands for the labels."""
    return _VALUES * len(labels.class_names)


def determined(names: Any, labels: Labels) -> tuple[float, int]:
    """The share of labeled nodes whose label follows from the value, and how many have both.

    The share is 0 where values do not stand for classes, one for one.

    Args:
        names: The values as texts, "" for an empty cell.
        labels: The nodes' labels.
    """
    known = (labels.y >= 0) & np.asarray(names != "")
    y, (values, distinct) = labels.y[known], pd.factorize(names[known])
    classes = np.unique(y).size
    many = len(distinct) > _VALUES * classes or _NODES * len(distinct) > len(y)
    if classes < 2 or many:
        return 0.0, len(y)
    said = _most_frequent(values, y, len(distinct))[values]
    of_class = [float((said[y == k] == k).mean()) for k in np.unique(y)]
    share = float((said == y).mean())
    is_copy = share >= _SHARE and np.mean(of_class) >= _OF_A_CLASS
    return (share if is_copy else 0.0), len(y)


def _most_frequent(
    values: NDArray[np.int64], y: NDArray[np.int64], distinct: int
) -> NDArray[np.int64]:
    """The most frequent label of each value."""
    counts = np.zeros((distinct, int(y.max()) + 1), np.int64)
    np.add.at(counts, (values, y), 1)
    return np.asarray(counts.argmax(1))
