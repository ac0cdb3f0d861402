"""A graph as the released LGNN program reads it: `graph.node` and `graph.edge`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nodewise.data.sources.released import edges_beside
from nodewise.data.writers.arrays import (
    EdgeRows,
    dense_chunks,
    edges_of,
    features_of,
    ids_array,
    labels_of,
    masks_of,
)
from nodewise.data.writers.tables import write_rows

if TYPE_CHECKING:
    from torch_geometric.data import Data


def write_released(
    path: Path, data: Data, ids: Sequence[Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Write both files, the edges beside the nodes.

    Returns:
        The options that read them back, and what the format cannot store, a clause each.
    """
    import pyarrow as pa

    edges, names = edges_of(data), ids_array(ids)
    are_numbers = all(str(name).isdigit() for name in names.tolist())
    numbers = names if are_numbers else np.arange(len(names))
    _write_nodes(path, data, numbers)
    table = pa.table([pa.array(numbers[nodes]) for nodes in edges.ends], ["source", "target"])
    write_rows(edges_beside(path), table.schema, [table])
    notes = () if are_numbers else ("ids are not whole numbers, so nodes are numbered from 0",)
    return {"directed": True} if edges.directed else {}, (*notes, *_left_out(data, edges))


def _write_nodes(path: Path, data: Data, numbers: NDArray[Any]) -> None:
    import pyarrow as pa

    features, _ = features_of(data)
    nodes, width = features.shape
    first = [pa.array(numbers), pa.array(labels_of(data)[0])]
    types = [*(column.type for column in first), *[pa.float32()] * width]
    schema = pa.schema([(f"column_{i}", kind) for i, kind in enumerate(types)])

    def batches() -> Iterator[Any]:
        for rows, chunk in dense_chunks(features):
            cut = [column[rows.start : rows.stop] for column in first]
            columns = [*cut, *map(pa.array, np.ascontiguousarray(chunk.T))]
            yield pa.table(columns, schema=schema)

    write_rows(path, schema, batches(), f"{nodes}\t{width}\n")


def _left_out(data: Data, edges: EdgeRows) -> Iterator[str]:
    _, class_names = labels_of(data)
    yield "features have no names"
    if class_names != tuple(str(k) for k in range(len(class_names))):
        named = ", ".join(f"{k} {name}" for k, name in enumerate(class_names))
        yield f"classes have numbers: {named}"
    if not class_names:
        yield "no node has a label, and this format cannot be read without"
    if masks_of(data):
        yield "the split is left out"
    if edges.weights is not None:
        yield "weights of edges are left out"
