"""The ids, the labels and the split that a table of nodes contains."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nodewise.data.options import Roles
from nodewise.data.sources.cells import in_order, looks_missing, names_in, positions
from nodewise.data.sources.source import SourceTable
from nodewise.data.splits.split import PARTS, Split
from nodewise.data.tables.name_counts import NameCounts
from nodewise.data.tables.regression import check_is_classes
from nodewise.errors import InputError, TableError

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


def index_of(nodes: SourceTable, column: str) -> Any:
    """The names of the nodes, as a pandas index.

    Raises:
        TableError: A node has none, or the name of another.
    """
    names = names_in(nodes.frame[column])
    empty = np.asarray(names == "")
    if empty.any():
        raise empty_id(nodes, column, int(empty.argmax()))
    repeated = np.asarray(names.duplicated())
    if repeated.any():
        row = int(repeated.argmax())
        name = names.iloc[row]
        raise repeated_id(nodes, column, row, int((names == name).argmax()), name)
    return pd.Index(names)


def empty_id(nodes: SourceTable, column: str, row: int) -> TableError:
    """The error for a node without a name."""
    return nodes.error(
        "is empty",
        row=row,
        column=column,
        value="",
        way_out="give every node an id, or name the right column with `id` (--id)",
    )


def repeated_id(nodes: SourceTable, column: str, row: int, first: int, name: str) -> TableError:
    """The error for a node with the name of an earlier one."""
    return nodes.error(
        f"is the id of {nodes.place(first)} too",
        row=row,
        column=column,
        value=name,
        way_out="give every node a unique id, or name the right column with `id` (--id)",
    )


def ids_of(nodes: SourceTable, column: str) -> tuple[Any, ...]:
    """The ids as the table has them, without spaces around them."""
    cells = nodes.frame[column]
    return tuple(cells.str.strip() if isinstance(cells.dtype, pd.StringDtype) else cells.tolist())


def nodes_of_edges(edges: SourceTable, roles: Roles) -> SourceTable:
    """A table of the nodes that edges name, sorted, integers by value."""
    ends = [names_in(edges.frame[column]) for column in (roles.source, roles.target)]
    names = in_order(name for end in ends for name in end.unique() if name)
    frame = pd.DataFrame({"id": pd.array(names, dtype="str")})
    return SourceTable(edges.name, frame, lambda row: f"node {names[row]!r}")


@dataclass(frozen=True, eq=False)
class Labels:
    """The nodes' labels.

    Args:
        y: Class numbers, -1 where there is no label, shape (nodes).
        class_names: A name for each class.
        unknown: How many labels are of classes that training did not have; those nodes have -1.
    """

    y: NDArray[np.int64]
    class_names: tuple[str, ...]
    unknown: int = 0

    def counts(self) -> Mapping[str, int]:
        """Labeled nodes by class."""
        counts = np.bincount(self.y[self.y >= 0], minlength=len(self.class_names))
        return dict(zip(self.class_names, counts.tolist(), strict=True))


def no_labels(num_nodes: int, class_names: tuple[str, ...] = ()) -> Labels:
    """Labels of nodes that have none."""
    return Labels(np.full(num_nodes, -1, np.int64), class_names)


def missing_label() -> InputError:
    """The error for a graph to train on that has no labels."""
    return InputError(
        "--label", "is missing: no column is known to have the labels", way_out="name the column"
    )


def labels_of(table: SourceTable, column: str, unlabeled: Collection[str] = ()) -> Labels:
    """The labels in a column.

    Args:
        table: The nodes.
        column: The column.
        unlabeled: Texts that mean no label, beside an empty cell.

    Raises:
        TableError: There is no label, or only one class, or labels are numbers to predict.
    """
    names = label_names(table, column, unlabeled)
    class_names = classes_of(table, column, NameCounts.of(names))
    return Labels(positions(names, class_names), class_names)


def classes_of(table: SourceTable, column: str, found: NameCounts) -> tuple[str, ...]:
    """The classes, from the labels of all rows; the table is for errors.

    Raises:
        TableError: There is no label, or only one class, or labels are numbers to predict.
    """
    check_is_classes(table, column, found)
    class_names = in_order(found.counts)
    if len(class_names) < 2:
        raise table.error(
            "has one class only" if class_names else "has no label at all",
            column=column,
            value=class_names[0] if class_names else "",
            way_out="label nodes of two classes at least, or name the right column with `label` "
            "(--label)",
        )
    return class_names


def known_labels_of(
    table: SourceTable, column: str, class_names: tuple[str, ...], unlabeled: Collection[str] = ()
) -> Labels:
    """The labels in a later table, numbered as before; those of new classes count as none."""
    names = label_names(table, column, unlabeled)
    y = positions(names, class_names)
    return Labels(y, class_names, int(((y < 0) & (names != "")).sum()))


def check_class_sizes(
    table: SourceTable,
    column: str,
    counts: Mapping[str, int],
    row_of: Callable[[str], int],
) -> None:
    """Check that every class has two nodes, one to learn from and one to validate on.

    Args:
        table: The nodes.
        column: The column of labels.
        counts: How many nodes each class has.
        row_of: The first row of a class.

    Raises:
        TableError: A class has one.
    """
    alone = [name for name, count in counts.items() if count == 1]
    if not alone:
        return
    many = len(alone) > len(counts) / 2
    hint = "give another node this label too, or say that it is none: " + unlabeled_flag(alone[0])
    if many:
        hint = "name the right column with `label` (--label)"
    if looks_missing(alone[0]):
        hint = f"say {unlabeled_flag(alone[0])} if it means that there is no label"
    raise table.error(
        f"{len(alone)} of {len(counts)} classes have one node" if many else "a class of one node",
        row=row_of(alone[0]),
        column=column,
        value=alone[0],
        way_out=hint,
    )


def unlabeled_flag(name: str) -> str:
    """The option that makes a label mean none."""
    return f"--unlabeled {quote(name)}"


def label_names(table: SourceTable, column: str, unlabeled: Collection[str]) -> Any:
    """The labels of the rows as texts, "" where there is none."""
    names = names_in(table.frame[column])
    return names.mask(names.isin(list(unlabeled)), "")


@dataclass(frozen=True)
class GivenSplit:
    """A split that came with a table, and how many of its test nodes have no label."""

    split: Split
    unlabeled_tests: int


def split_of(
    table: SourceTable, column: str, y: NDArray[np.int64], *, strict: bool = True
) -> GivenSplit:
    """The split in a column; a test node without a label is predicted, and not scored.

    Args:
        table: The nodes.
        column: The column.
        y: Their labels.
        strict: Whether there must be nodes to train on, and labels of those and of the
            validation nodes.

    Raises:
        TableError: A cell is none of the known words, a node to train or validate on has no
            label, or there is no node to train on.
    """
    part = part_of(table, column)
    if strict:
        if not (part == PARTS.index("train") + 1).any():
            raise no_train_node(table, column)
        check_part_labels(table, column, part, y)
    return given_split(part, y)


def part_of(table: SourceTable, column: str) -> NDArray[np.int8]:
    """The part of the split that each row is in: 0 for none, then as in `PARTS`.

    Raises:
        TableError: A cell is none of the known words.
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
    numbers = {word: PARTS.index(part) + 1 for word, part in _WORDS.items()}
    return np.asarray(parts.map(numbers).fillna(0), dtype=np.int8)


def given_split(part: NDArray[np.int8], y: NDArray[np.int64]) -> GivenSplit:
    """The split of nodes in parts; those without a label are in none."""
    in_part = [part == number for number in range(1, len(PARTS) + 1)]
    unlabeled_tests = int((in_part[PARTS.index("test")] & (y < 0)).sum())
    return GivenSplit(Split.from_masks(*(mask & (y >= 0) for mask in in_part)), unlabeled_tests)


def no_train_node(table: SourceTable, column: str) -> TableError:
    """The error for a split without nodes to train on."""
    return table.error(
        "marks no node to train on", column=column, way_out="write train beside some nodes"
    )


def check_part_labels(
    table: SourceTable, column: str, part: NDArray[np.int8], y: NDArray[np.int64]
) -> None:
    """Check that nodes to train and to validate on have labels.

    Raises:
        TableError: One has none.
    """
    bad = np.isin(part, (PARTS.index("train") + 1, PARTS.index("val") + 1)) & (y < 0)
    if bad.any():
        row = int(bad.argmax())
        raise table.error(
            "the node has no label to learn from",
            row=row,
            column=column,
            value=table.frame[column].iloc[row],
            way_out="give it a label, or leave the cell empty",
        )
