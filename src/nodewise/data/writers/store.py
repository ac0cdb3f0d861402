"""A graph in memory as a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.data.graph import GraphTable
from nodewise.data.sampling.csc import CscGraph
from nodewise.data.splits.split import PARTS
from nodewise.data.stores.store import PREPROCESSING, GraphStore
from nodewise.data.stores.writer import Ids, StoreWriter
from nodewise.data.tables.summary import Summary
from nodewise.data.writers.arrays import dense_chunks, features_of, labels_of, masks_of
from nodewise.errors import InputError


def write_store(graph: GraphTable, folder: str | Path) -> GraphStore:
    """Write a graph as a store, which `read_graph` reads back.

    Raises:
        InputError: It cannot be written.
    """
    data, fitted, folder = graph.data, graph.preprocessing, Path(folder).expanduser()
    (features, names), (y, classes), masks = features_of(data), labels_of(data), masks_of(data)
    # PyG's sources come first; `CscGraph` sorts by target, then by source as they are sorted.
    csc = CscGraph.from_edges(data.edge_index, data.num_nodes, data.get("edge_weight"))
    classes = fitted.class_names or classes
    try:
        with StoreWriter(
            folder,
            data.num_nodes,
            names,
            classes,
            ids=kind_of_ids(graph.ids),
            weighted=csc.edge_weight is not None,
            split=bool(masks),
            directed=fitted.directed,
        ) as writer:
            parts = _parts(masks, data.num_nodes)
            for rows, chunk in dense_chunks(features):
                writer.add_nodes(chunk, y[rows], parts[rows], graph.ids[rows])
            writer.add_edges(np.diff(csc.colptr), csc.row, csc.edge_weight)
            fitted.save(folder / PREPROCESSING)
            return writer.finish({"reading": reading_of(graph.summary)})
    except OSError as error:
        raise not_writable(folder, error) from error


def kind_of_ids(ids: Any) -> Ids:
    """How a store keeps names: as numbers of nodes, integers or texts."""
    if not all(isinstance(name, int | np.integer) for name in ids):
        return "texts"
    return "numbers" if list(ids) == list(range(len(ids))) else "integers"


def reading_of(summary: Summary) -> dict[str, Any]:
    """The facts about the tables that the arrays of the store do not contain."""
    return {
        "dropped": dict(summary.dropped),
        "left_out": dict(summary.left_out),
        "notes": list(summary.notes),
        "warnings": list(summary.warnings),
    }


def not_writable(folder: Path, error: OSError) -> InputError:
    """The error for a store that cannot be written, as on a full disk."""
    return InputError(
        str(folder),
        f"cannot be written ({error.strerror or error})",
        way_out="make room or choose another folder, then run the same command again",
    )


def _parts(masks: dict[str, NDArray[np.bool_]], num_nodes: int) -> NDArray[np.int8]:
    parts = np.zeros(num_nodes, np.int8)
    for number, part in enumerate(PARTS, 1):
        if part in masks:
            parts[masks[part]] = number
    return parts
