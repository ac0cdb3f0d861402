"""A column that says which nodes are learned from, which choose the epoch, which judge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodewise.data.cells import names_in
from nodewise.data.sources.source import Table
from nodewise.data.splits import PARTS, Split

_WORDS = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "dev": "val",
    "test": "test",
    "testing": "test",
}


@dataclass(frozen=True)
class GivenSplit:
    """A split that came with a table, and how many of its test nodes have no label."""

    split: Split
    unlabeled_tests: int


def split_of(table: Table, column: str, y: NDArray[np.int64], *, strict: bool = True) -> GivenSplit:
    """The split in a column; a test node without a label is predicted, but judges nothing.

    Args:
        table: The nodes.
        column: The column.
        y: Their labels.
        strict: Whether the nodes to train and validate on must be there, and have labels.

    Raises:
        TableError: A cell is none of the known words, a node to train or validate on has no
            label, or there is no node to train on.
    """
    parts = names_in(table.frame[column]).str.lower()
    known = np.asarray((parts == "") | parts.isin(list(_WORDS)))
    if not known.all():
        row = int((~known).argmax())
        raise table.error(
            "is not a part of a split",
            row=row,
            column=column,
            value=table.frame[column].iloc[row],
            way_out="write train, val or test, or nothing",
        )
    part = np.asarray(parts.map(_WORDS).fillna(""), dtype=object)
    if strict:
        _check_labels(table, column, part, y)
    masks = [(part == name) & (y >= 0) for name in PARTS]
    return GivenSplit(Split.from_masks(*masks), int(((part == "test") & (y < 0)).sum()))


def _check_labels(
    table: Table, column: str, part: NDArray[np.object_], y: NDArray[np.int64]
) -> None:
    if not (part == "train").any():
        raise table.error(
            "marks no node to train on", column=column, way_out="write train beside some nodes"
        )
    bad = ((part == "train") | (part == "val")) & (y < 0)
    if bad.any():
        row = int(bad.argmax())
        raise table.error(
            "the node has no label to learn from",
            row=row,
            column=column,
            value=table.frame[column].iloc[row],
            way_out="give it a label, or leave the cell empty",
        )
