"""Which columns are ids, labels and ends of edges, and which become features, and how."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from nodewise.data.encoders.category import CategoryColumn
from nodewise.data.encoders.encoder import Encoder
from nodewise.data.encoders.numeric import NumericColumn
from nodewise.data.encoders.words import WordsColumn
from nodewise.data.options import ReadOptions, Roles
from nodewise.data.sources.cells import as_numbers, is_empty, names_in
from nodewise.data.sources.source import Source, SourceTable, listed
from nodewise.errors import TableError

ID = ("id", "node_id", "nodeid", "node")
LABEL = ("label", "labels", "class", "y")
SPLIT = ("split",)
SOURCE = ("source", "src", "source_id", "from", "u", "head")
TARGET = ("target", "dst", "target_id", "to", "v", "tail")
FEW, MANY = 50, 1000  # categories taken by default, in long tables, and at most


def node_roles(nodes: Source, named: Roles, stored: Roles | None = None) -> Roles:
    """The id, label and split columns of a table of nodes.

    A column that the options name must exist. Else it is the one that a preprocessing remembers,
    or one of a usual name; failing that the id is the first column, and there is no label.

    Args:
        nodes: The table.
        named: The columns that the options name.
        stored: The columns of a preprocessing; a later table need have no label and no split.

    Raises:
        TableError: A column that the options name does not exist.
    """
    known = stored or Roles()
    node_id = _find(nodes, "id", named.id, known.id, ID) or nodes.columns[0]
    label = _find(nodes, "label", named.label, known.label, LABEL if stored is None else ())
    split = _find(nodes, "split", named.split, known.split, SPLIT)
    found = Roles(id=node_id, label=label, split=split)
    _check_apart(nodes, found)
    return found


def edge_roles(edges: Source, named: Roles, stored: Roles | None = None) -> Roles:
    """The source, target and weight columns of a table of edges; weights are never guessed.

    Raises:
        TableError: A column that the options name does not exist, or there is only one column.
    """
    known = stored or Roles()
    source = _find(edges, "source", named.source, known.source, SOURCE, but=named.target)
    target = _find(edges, "target", named.target, known.target, TARGET, but=source)
    weight = _find(edges, "weight", named.weight, known.weight, ())
    rest = [name for name in edges.columns if name not in (source, target, weight)]
    if (source is None) + (target is None) > len(rest):
        raise TableError(
            edges.name,
            "needs two columns, for the two ends of an edge",
            value=listed(edges.columns),
            way_out="give a column for the source and one for the target",
        )
    found = Roles(source=source or rest.pop(0), target=target or rest.pop(0), weight=weight)
    _check_apart(edges, found)
    return found


def merge_roles(nodes: Roles, edges: Roles) -> Roles:
    """The roles of both tables."""
    return replace(nodes, source=edges.source, target=edges.target, weight=edges.weight)


def _find(
    table: Source,
    role: str,
    named: str | None,
    stored: str | None,
    usual: tuple[str, ...],
    but: str | None = None,
) -> str | None:
    if named is not None:
        return table.column(named, role)
    return stored if stored in table.columns else table.guess(usual, (but,))


def _check_apart(table: Source, roles: Roles) -> None:
    seen: dict[str, str] = {}
    for role, column in vars(roles).items():
        if column in seen:
            raise TableError(
                table.name,
                f"is named as the {role} and the {seen[column]}",
                column=column,
                way_out="name a column for each",
            )
        if column is not None:
            seen[column] = role


@dataclass(frozen=True)
class FeatureChoice:
    """The encoders of a table, and the columns left out, each with the reason."""

    encoders: tuple[Encoder, ...]
    left_out: tuple[tuple[str, str], ...] = ()


def check_columns(nodes: Source, options: ReadOptions, taken: Collection[str | None]) -> None:
    """Check that the columns named as features exist, and are neither id, label nor split.

    Raises:
        TableError: One does not exist, or is one of those.
    """
    for column in (*options.text, *(options.features or ())):
        nodes.column(column, "features")
        if column in taken:
            raise TableError(
                nodes.name,
                "is the id, the label or the split, and no feature",
                column=column,
                way_out="leave it out of the features",
            )


class Columns:
    """The columns of a table of nodes: what they hold, and the encoders fitted to them.

    Args:
        table: The nodes.
        options: How to read them.
    """

    def __init__(self, table: SourceTable, options: ReadOptions) -> None:
        self.table, self.options = table, options

    def facts(self, column: str) -> ColumnFacts:
        """The facts that decide whether a column is a feature."""
        return ColumnFacts.of(self.table.frame[column], column)

    def numbers(self, column: str) -> Encoder:
        """The encoder of a column of numbers."""
        return NumericColumn.fit(self.table, column, self.options.missing, self.options.scale)

    def names(self, column: str) -> Encoder:
        """The encoder of a column of categories."""
        return CategoryColumn.fit(self.table, column, self.options.missing != "error")

    def words(self, column: str) -> Encoder:
        """The encoder of a column of texts."""
        how = (self.options.text_as, self.options.max_vocabulary)
        return WordsColumn.fit(self.table, column, *how)


def choose(columns: Columns, names: Sequence[str], taken: Collection[str | None]) -> FeatureChoice:
    """Fit an encoder to each column that was named, or that can be a feature by default.

    Args:
        columns: The columns; without the option `features`, all numbers and names of few values
            are taken.
        names: What they are called.
        taken: Columns that have a role.

    Raises:
        TableError: A column cannot be what it was named for, or mixes numbers with other things.
    """
    options = columns.options
    texts = [columns.words(column) for column in options.text]
    encoders: list[Encoder] = []
    left_out: list[tuple[str, str]] = []
    rest = names if options.features is None else options.features
    for column in rest:
        if column in options.text or (options.features is None and column in taken):
            continue
        facts = columns.facts(column)
        if options.features is not None:
            facts.check_named(columns.table)
        elif facts.reason_against is not None:
            left_out.append((column, facts.reason_against))
            continue
        fit = columns.numbers if facts.is_mostly_numbers else columns.names
        encoders.append(fit(column))
    return FeatureChoice((*encoders, *texts), tuple(left_out))


@dataclass(frozen=True)
class ColumnFacts:
    """The facts that decide whether a column is a feature, and which kind.

    Attributes:
        column: The column.
        rows: How many rows there are.
        given: How many cells are not empty.
        numbers: How many of these are numbers.
        distinct: How many distinct texts they have; 0 of a column of numbers.
        foreign: The type of cells that are neither numbers nor names, else nothing.
        first: The first cell.
        first_text: The first row whose cell is not a number.
    """

    column: str
    rows: int
    given: int
    numbers: int
    distinct: int
    foreign: str
    first: object
    first_text: int

    @classmethod
    def of(cls, cells: Any, column: str) -> ColumnFacts:
        """The facts of a column in memory."""
        given, text, distinct = ~is_empty(cells), np.zeros(len(cells), np.bool_), 0
        foreign = is_foreign(cells)
        if not (foreign or is_numeric(cells)):
            text, names = np.isnan(as_numbers(cells)), names_in(cells)
            distinct = int(names[names != ""].nunique())
        counts = (len(cells), int(given.sum()), int((given & ~text).sum()), distinct)
        kind = str(cells.dtype) if foreign else ""
        return cls(column, *counts, kind, cells.iloc[0], int(text.argmax()))

    @property
    def is_mostly_numbers(self) -> bool:
        """Whether a cell that is not a number is an error."""
        return self.numbers > self.given / 2

    def check_named(self, table: SourceTable) -> None:
        """Check that the column can be the feature that it was named for.

        Raises:
            TableError: It cannot.
        """
        if not self.given:
            way_out = "leave it out of the features"
            raise table.error("is empty", column=self.column, way_out=way_out)
        if self.foreign:
            raise table.error(
                f"is neither a number nor a name but {self.foreign}",
                column=self.column,
                value=self.first,
                way_out="leave it out of the features, or convert it to numbers",
            )
        if self.distinct > MANY:
            raise table.error(
                f"is not a number, and {self.distinct} distinct texts are too many for categories",
                row=self.first_text,
                column=self.column,
                value=self.first,
                way_out="leave it out of the features, or name it in text to use its words",
            )

    @property
    def reason_against(self) -> str | None:
        """Why the column is not a feature unless it is named; None if it is one."""
        if self.column.startswith("(unnamed") or self.column.startswith("__index"):
            return "has no name, perhaps a saved index"
        if not self.given:
            return "is empty"
        if self.foreign:
            return f"is neither numbers nor names ({self.foreign})"
        # Names that hardly any two rows share say nothing about a node.
        if self.is_mostly_numbers or self.distinct <= min(FEW, self.rows / 2):
            return None
        return f"has {self.distinct} distinct texts; name it in `text` (--text) to use its words"


def is_numeric(cells: Any) -> bool:
    """Whether a column has a type of numbers."""
    return bool(pd.api.types.is_numeric_dtype(cells.dtype)) and cells.dtype.kind != "c"


def is_foreign(cells: Any) -> bool:
    """Whether a column holds dates, lists and other things that are neither numbers nor names."""
    if is_numeric(cells) or isinstance(cells.dtype, pd.CategoricalDtype | pd.StringDtype):
        return False
    plain = cells.dtype == object and cells.dropna().map(type).isin((str, bool, int, float)).all()
    return not plain


def no_features(table: SourceTable, left_out: Collection[tuple[str, str]]) -> TableError:
    """The error for a table without a column that can be a feature."""
    reasons = listed([f"{column!r} {reason}" for column, reason in left_out])
    return table.error(
        f"no column can be a feature: {reasons}",
        way_out="name one in text, or give no features (an empty list) to use degrees",
    )
