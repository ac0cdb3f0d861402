"""The rows of both tables as numbers: names, labels and parts of nodes, and the ends of edges."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nodewise.data.options import ReadOptions, Roles
from nodewise.data.sources.cells import names_in
from nodewise.data.sources.source import Source, SourceTable
from nodewise.data.stores.writer import Ids
from nodewise.data.streaming.budget import Budget
from nodewise.data.streaming.edge_sort import EdgeSorter
from nodewise.data.streaming.names import NameTable
from nodewise.data.streaming.table import Show, StreamedTable, stream_edges
from nodewise.data.tables.edges import UnknownEnds, check_edge_header, no_edges, weights_of
from nodewise.data.tables.name_counts import NameCounts
from nodewise.data.tables.nodes import (
    GivenSplit,
    Labels,
    check_class_sizes,
    check_part_labels,
    classes_of,
    empty_id,
    given_split,
    known_labels_of,
    label_names,
    no_labels,
    no_train_node,
    part_of,
)
from nodewise.data.tables.preprocessing import Preprocessing

# More distinct labels are not classes; they would fill the memory before that could be said.
_MOST_LABELS: Final = 1 << 20


@dataclass(frozen=True, eq=False)
class NodeRows:
    """The content of a table of nodes besides features.

    Attributes:
        names: The numbers of the names.
        ids: How the store keeps the names.
        labels: The labels.
        part: The part of the split of each node, or None.
        given: The split, or None.
    """

    names: NameTable
    ids: Ids
    labels: Labels
    part: NDArray[np.int8] | None
    given: GivenSplit | None


def read_nodes(
    table: StreamedTable,
    roles: Roles,
    options: ReadOptions,
    fitted: Preprocessing | None,
    folder: Path,
    show: Show,
) -> NodeRows:
    """The names, the labels and the split of a table of nodes.

    Args:
        table: The table.
        roles: Its columns.
        options: How to read it.
        fitted: The preprocessing of an earlier table, whose classes are taken; or None.
        folder: Where names are written.
        show: Called with what is read.

    Raises:
        TableError: A node has no name or that of another, or labels or split cannot be used.
        OSError: The disk is full.
    """
    names, kind = _read_names(table, str(roles.id), folder, show)
    labels, found = _labels(table, roles.label, options, fitted)
    has_split = roles.split is not None and roles.label is not None
    part = _parts(table, str(roles.split), labels, fitted is None) if has_split else None
    if found is not None and roles.split is None:
        counts = labels.counts()
        check_class_sizes(table.block(None), str(roles.label), counts, found.first.__getitem__)
    given = None if part is None else given_split(part, labels.y)
    return NodeRows(names, kind, labels, part, given)


def read_edges(
    source: Source,
    roles: Roles,
    names: NameTable,
    nodes: str,
    sorter: EdgeSorter,
    budget: Budget,
    show: Show,
) -> None:
    """Give the edges to a sorter, by the numbers of their ends.

    Args:
        source: The table of edges.
        roles: Its columns.
        names: The numbers of the nodes' names.
        nodes: The name of the table of nodes, for errors.
        sorter: The sorter.
        budget: The memory.
        show: Called with what is read.

    Raises:
        TableError: An end is not a node, a weight cannot be used, or there is no edge.
        OSError: The disk is full.
    """
    ends = [str(roles.source), str(roles.target)]
    unknown, table = UnknownEnds(), SourceTable(source.name, None, str)
    for number, table in enumerate(stream_edges(source, ends, roles.weight, budget, show)):
        if not number:
            check_edge_header(table, ends, names.numbers)
        texts = [names_in(table.frame[column]) for column in ends]
        found = np.stack([names.numbers(text) for text in texts])
        unknown.add(ends, texts, found)
        if not unknown.count:
            weight = None if roles.weight is None else weights_of(table, roles.weight)
            sorter.add(found, weight)
    whole = source.block(None)  # type: ignore[attr-defined]
    unknown.check(whole, nodes)
    if not sorter.counts.rows:
        raise no_edges(whole)


def _read_names(
    table: StreamedTable, column: str, folder: Path, show: Show
) -> tuple[NameTable, Ids]:
    names, integers, numbers = NameTable(folder), True, True
    for start, block in table.blocks([column]):
        cells = block.frame[column]
        texts = names_in(cells)
        empty = np.asarray(texts == "")
        if empty.any():
            raise empty_id(block, column, int(empty.argmax()))
        names.add(texts)
        integers = integers and bool(pd.api.types.is_integer_dtype(cells.dtype))
        numbers = integers and numbers and bool((cells == start + np.arange(len(cells))).all())
        show("reading names", start + len(cells), table.num_rows)
    names.close(table.block(None), column)
    return names, "numbers" if numbers else "integers" if integers else "texts"


def _labels(
    table: StreamedTable, column: str | None, options: ReadOptions, fitted: Preprocessing | None
) -> tuple[Labels, NameCounts | None]:
    """The labels, and how often each occurs if the classes are those of this table."""
    if column is None:
        return no_labels(table.num_rows, () if fitted is None else fitted.class_names), None
    found = None if fitted is not None else _count_labels(table, column, options)
    if fitted is not None:
        classes = fitted.class_names
    elif found is not None:
        classes = classes_of(table.block(None), column, found)
    parts = [
        known_labels_of(block, column, classes, options.unlabeled)
        for _, block in table.blocks([column])
    ]
    unknown = sum(part.unknown for part in parts)
    return Labels(np.concatenate([part.y for part in parts]), classes, unknown), found


def _count_labels(table: StreamedTable, column: str, options: ReadOptions) -> NameCounts:
    found = NameCounts()
    for _, block in table.blocks([column]):
        found.add(label_names(block, column, options.unlabeled))
        if len(found.counts) > _MOST_LABELS:
            raise block.error(
                f"has more than {_MOST_LABELS:,} distinct labels",
                column=column,
                way_out="name the right column with `label` (--label)",
            )
    return found


def _parts(table: StreamedTable, column: str, labels: Labels, strict: bool) -> NDArray[np.int8]:
    parts: list[Any] = []
    for start, block in table.blocks([column]):
        part = part_of(block, column)
        if strict:
            check_part_labels(block, column, part, labels.y[start : start + len(part)])
        parts.append(part)
    part = np.concatenate(parts)
    if strict and not (part == 1).any():
        raise no_train_node(table.block(None), column)
    return part
