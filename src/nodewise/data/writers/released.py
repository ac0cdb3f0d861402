"""A graph as the released LGNN program reads it: `graph.node` and `graph.edge`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nodewise.data.sources.released import edges_beside
from nodewise.data.writers.plain_graph import PlainGraph
from nodewise.data.writers.table_file import write_rows


def write_released(path: Path, graph: PlainGraph) -> tuple[str, ...]:
    """Write both files, the edges beside the nodes; gives what the format has no room for."""
    import pyarrow as pa

    numbered = graph if _whole_numbers(graph) else replace(graph, ids=np.arange(len(graph.ids)))
    _write_nodes(path, numbered)
    table = pa.table([pa.array(numbered.ids[nodes]) for nodes in graph.ends], ["source", "target"])
    write_rows(edges_beside(path), table.schema, [table])
    return tuple(_left_out(graph))


def _write_nodes(path: Path, graph: PlainGraph) -> None:
    import pyarrow as pa

    nodes, width = graph.features.shape
    about = [pa.array(graph.ids), pa.array(graph.y)]
    types = [*(column.type for column in about), *[pa.float32()] * width]
    schema = pa.schema([(f"column_{i}", kind) for i, kind in enumerate(types)])

    def batches() -> Iterator[Any]:
        for rows, block in graph.dense_chunks():
            first = [column[rows.start : rows.stop] for column in about]
            columns = [*first, *map(pa.array, np.ascontiguousarray(block.T))]
            yield pa.table(columns, schema=schema)

    write_rows(path, schema, batches(), f"{nodes}\t{width}\n")


def _whole_numbers(graph: PlainGraph) -> bool:
    return all(str(name).isdigit() for name in graph.ids.tolist())


def _left_out(graph: PlainGraph) -> Iterator[str]:
    if not _whole_numbers(graph):
        yield "ids are not whole numbers, so nodes are numbered from 0"
    yield "features have no names"
    if graph.class_names != tuple(str(k) for k in range(len(graph.class_names))):
        named = ", ".join(f"{k} {name}" for k, name in enumerate(graph.class_names))
        yield f"classes have numbers: {named}"
    if not graph.class_names:
        yield "no node has a label, and this format cannot be read without"
    if graph.masks:
        yield "the split is left out"
    if graph.weights is not None:
        yield "weights of edges are left out"
