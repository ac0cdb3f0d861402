"""Which columns are ids, labels and ends of edges, and which become features, and how."""

from __future__ import annotations

from collections.abc import Collection
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


def choose(
    table: SourceTable, options: ReadOptions, taken: Collection[str | None]
) -> FeatureChoice:
    """Fit an encoder to each column that was named, or that can be a feature by default.

    Args:
        table: The nodes.
        options: How to read; without `features`, all numbers and names of few values are taken.
        taken: Columns that have a role.

    Raises:
        TableError: A column cannot be what it was named for, or mixes numbers with other things.
    """
    texts = [
        WordsColumn.fit(table, column, options.text_as, options.max_vocabulary)
        for column in options.text
    ]
    if options.features is not None:
        named = [name for name in options.features if name not in options.text]
        return FeatureChoice((*(_named_feature(table, name, options) for name in named), *texts))
    free = [name for name in table.frame.columns if name not in (*taken, *options.text)]
    encoders: list[Encoder] = []
    left_out: list[tuple[str, str]] = []
    for column in free:
        reason = _reason_against(table.frame[column], column)
        if reason is None:
            encoders.append(_fit(table, column, options))
        else:
            left_out.append((column, reason))
    return FeatureChoice((*encoders, *texts), tuple(left_out))


def _named_feature(table: SourceTable, column: str, options: ReadOptions) -> Encoder:
    cells = table.frame[column]
    if is_empty(cells).all():
        raise table.error("is empty", column=column, way_out="leave it out of the features")
    if _is_foreign(cells):
        raise table.error(
            f"is neither a number nor a name but {cells.dtype}",
            column=column,
            value=cells.iloc[0],
            way_out="leave it out of the features, or convert it to numbers",
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
    return _fit(table, column, options)


def _fit(table: SourceTable, column: str, options: ReadOptions) -> Encoder:
    """The encoder of a column; one that is mostly numbers must be numbers throughout."""
    if _is_mostly_numbers(table.frame[column]):
        return NumericColumn.fit(table, column, options.missing, options.scale)
    return CategoryColumn.fit(table, column, may_lack=options.missing != "error")


def _reason_against(cells: Any, column: str) -> str | None:
    """Why a column is no feature unless it is named; None if it is one."""
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
    # Names that hardly any two rows share say nothing about a node.
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


def no_features(table: SourceTable, left_out: Collection[tuple[str, str]]) -> TableError:
    """The error for a table without a column that can be a feature."""
    reasons = listed([f"{column!r} {reason}" for column, reason in left_out])
    return table.error(
        f"no column can be a feature: {reasons}",
        way_out="name one in text, or give no features (an empty list) to use degrees",
    )
