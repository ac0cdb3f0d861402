"""A graph as two tables, nodes and edges."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nodewise.data.roles import LABEL, SPLIT
from nodewise.data.writers.plain_graph import PlainGraph
from nodewise.data.writers.table_file import write_table

_ID, _LABEL, _SPLIT, _WEIGHT = "id", "label", "split", "weight"


def write_nodes(path: Path, graph: PlainGraph) -> dict[str, str]:
    """Write the nodes: id, label, split, features; gives the columns that have a role."""
    import pyarrow as pa

    about = dict(_about(graph))
    names = feature_columns(graph.feature_names, about)
    fields = [(name, column.type) for name, column in about.items()]
    schema = pa.schema([*fields, *((name, pa.float32()) for name in names)])

    def batches() -> Iterator[Any]:
        for rows, block in graph.dense_chunks():
            first = [column[rows.start : rows.stop] for column in about.values()]
            columns = [*first, *map(pa.array, np.ascontiguousarray(block.T))]
            yield pa.table(columns, schema=schema)

    write_table(path, schema, batches())
    return {name: name for name in about}


def write_edges(path: Path, graph: PlainGraph) -> dict[str, str]:
    """Write the edges: source, target, and weight if there is one; gives the column of weights."""
    import pyarrow as pa

    columns = {
        end: pa.array(graph.ids[nodes])
        for end, nodes in zip(("source", "target"), graph.ends, strict=True)
    }
    if graph.weights is not None:
        columns[_WEIGHT] = pa.array(graph.weights)
    table = pa.table(columns)
    write_table(path, table.schema, [table])
    return {} if graph.weights is None else {_WEIGHT: _WEIGHT}


def feature_columns(names: Collection[str], about: Collection[str]) -> list[str]:
    """Names for the columns of features, so that none is taken for something else when read.

    Args:
        names: The features' names.
        about: The columns that are no features; without a label or a split among them, no feature
            may be called as the reader expects those to be.
    """
    taken = {*about, *(() if _LABEL in about else LABEL), *(() if _SPLIT in about else SPLIT)}
    columns = []
    for i, name in enumerate(names):
        column = name.strip() or f"feature_{i}"
        while column.lower() in taken or column in taken:
            column = f"feature_{column}"
        taken.add(column)
        columns.append(column)
    return columns


def _about(graph: PlainGraph) -> Iterator[tuple[str, Any]]:
    """The columns before the features."""
    import pyarrow as pa

    yield _ID, pa.array(graph.ids)
    if graph.class_names:
        named = np.array(graph.class_names, dtype=object)[graph.y]
        yield _LABEL, pa.array(named, pa.string(), mask=graph.y < 0)
    if graph.masks:
        part = np.full(len(graph.ids), "", dtype=object)
        for name, mask in graph.masks.items():
            part[mask] = name
        yield _SPLIT, pa.array(part, pa.string(), mask=part == "")
