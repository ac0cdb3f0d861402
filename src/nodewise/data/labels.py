"""Labels: from a column of anything to class numbers; an empty cell is to be predicted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.data.cells import in_order, looks_missing, names_in, positions
from nodewise.data.sources.source import Table


@dataclass(frozen=True, eq=False)
class Labels:
    """The nodes' labels.

    Args:
        y: Class numbers, -1 where there is no label, shape (nodes).
        class_names: A name for each class.
        strangers: How many labels a preprocessing did not know; those nodes have -1.
    """

    y: NDArray[np.int64]
    class_names: tuple[str, ...]
    strangers: int = 0

    def counts(self) -> Mapping[str, int]:
        """Labeled nodes by class."""
        counts = np.bincount(self.y[self.y >= 0], minlength=len(self.class_names))
        return dict(zip(self.class_names, counts.tolist(), strict=True))


def no_labels(num_nodes: int, class_names: tuple[str, ...] = ()) -> Labels:
    """Nobody has a label."""
    return Labels(np.full(num_nodes, -1, np.int64), class_names)


def labels_of(table: Table, column: str, unlabeled: Collection[str] = ()) -> Labels:
    """The labels in a column.

    Args:
        table: The nodes.
        column: The column.
        unlabeled: Texts that mean no label, beside an empty cell.

    Raises:
        TableError: There is no label, or only one class.
    """
    names = _labels(table, column, unlabeled)
    class_names = in_order(name for name in names.unique() if name)
    if len(class_names) < 2:
        raise table.error(
            "has one class only" if class_names else "has no label at all",
            column=column,
            value=class_names[0] if class_names else "",
            way_out="label nodes of two classes at least, or name the right column with `label` "
            "(--label)",
        )
    return Labels(positions(names, class_names), class_names)


def known_labels_of(
    table: Table, column: str, class_names: tuple[str, ...], unlabeled: Collection[str] = ()
) -> Labels:
    """The labels in a later table, numbered as before; those of new classes count as none."""
    names = _labels(table, column, unlabeled)
    y = positions(names, class_names)
    return Labels(y, class_names, int(((y < 0) & (names != "")).sum()))


def check_class_sizes(table: Table, column: str, labels: Labels) -> None:
    """Check every class to have two nodes, one to learn from and one to validate on.

    Raises:
        TableError: A class has one.
    """
    counts = labels.counts()
    alone = [name for name, count in counts.items() if count == 1]
    if not alone:
        return
    many = len(alone) > len(counts) / 2
    hint = "give another node this label too, or say that it is none: " + unlabeled_flag(alone[0])
    if many:
        hint = "name the right column with `label` (--label)"
    if looks_missing(alone[0]):
        hint = f"say {unlabeled_flag(alone[0])} if it means that there is no label"
    row = int((labels.y == labels.class_names.index(alone[0])).argmax())
    raise table.error(
        f"{len(alone)} of {len(counts)} classes have one node" if many else "a class of one node",
        row=row,
        column=column,
        value=alone[0],
        way_out=hint,
    )


def unlabeled_flag(name: str) -> str:
    """How to say that a label means none."""
    return f"--unlabeled {quote(name)}"


def _labels(table: Table, column: str, unlabeled: Collection[str]) -> Any:
    names = names_in(table.frame[column])
    return names.mask(names.isin(list(unlabeled)), "")
