"""A store, read into memory as any other graph."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.data.graph import GraphTable, Parts, assemble
from nodewise.data.options import ReadOptions
from nodewise.data.sources.cells import positions
from nodewise.data.stores.store import GraphStore
from nodewise.data.tables.edges import Edges
from nodewise.data.tables.nodes import Labels
from nodewise.data.tables.preprocessing import Preprocessing
from nodewise.errors import InputError

_FREE = ("sparse", "split_ratio")  # options that are not about tables


def read_store(
    folder: Path, edges: Any, options: ReadOptions, stored: Preprocessing | None = None
) -> GraphTable:
    """Read a store as a graph in memory, the same that its tables would give.

    Args:
        folder: The store's.
        edges: Must be None: a store has its edges within.
        options: How to read; none that is about tables, whose columns are encoded already.
        stored: The preprocessing of the graph that a model was trained on.

    Raises:
        GraphError: The store is damaged.
        InputError: Options are about tables, or features were made in another way than `stored`.
    """
    _check_options(folder, edges, options)
    store = GraphStore.open(folder)
    fitted = stored or store.preprocessing
    _check_features(store, fitted)
    reading = store.meta.get("reading", {})
    parts = Parts(
        tuple(store.ids()),
        np.array(store.x),
        edges_of(store),
        _labels(store, fitted),
        fitted,
        store.split,
        reading.get("left_out", {}),
        tuple(reading.get("notes", ())),
        tuple(reading.get("warnings", ())),
    )
    return assemble(parts, options.sparse)


def edges_of(store: GraphStore) -> Edges:
    """The edges sorted by source and target, as those of tables are."""
    csc, reading = store.csc, store.meta.get("reading", {})
    degrees = np.diff(csc.colptr)
    target = np.repeat(np.arange(store.num_nodes), degrees)
    order = np.argsort(csc.row, kind="stable")
    index = np.stack([csc.row[order].astype(np.int64), target[order]])
    weight = None if csc.edge_weight is None else np.asarray(csc.edge_weight[order], np.float32)
    if store.directed:
        degrees = degrees + np.bincount(index[0], minlength=store.num_nodes)
    return Edges(
        index,
        weight,
        count=store.num_edges if store.directed else _pairs(index),
        degrees=degrees,
        dropped=reading.get("dropped", {}),
    )


def _pairs(index: NDArray[np.int64]) -> int:
    """How many edges there are if both directions of one are one; a self-loop has one direction."""
    return int((index[0] <= index[1]).sum())


def _labels(store: GraphStore, fitted: Preprocessing) -> Labels:
    y, classes = np.array(store.y), fitted.class_names
    if store.classes == classes:
        return Labels(y, classes)
    # Classes by their names, as in a later table; those that training did not have count as none.
    number = np.append(positions(list(store.classes), list(classes)), -1)
    known = number[y]
    return Labels(known, classes, int(((known < 0) & (y >= 0)).sum()))


def _check_options(folder: Path, edges: Any, options: ReadOptions) -> None:
    if edges is not None:
        raise InputError(
            "edges",
            "are given beside a store, which has its edges within",
            value=str(getattr(edges, "path", "edges")),
            way_out=f"give {folder} alone",
        )
    about_tables = [name for name in options.to_dict() if name not in _FREE]
    if about_tables:
        raise InputError(
            about_tables[0],
            f"is about tables, and {folder} is a store, whose columns were read when it was made",
            value=getattr(options, about_tables[0]),
            way_out="leave it out, or write the store again with it",
        )


def _check_features(store: GraphStore, fitted: Preprocessing) -> None:
    """Check that features were made as those of training: equal names may have other scales."""
    if store.preprocessing.encoders == fitted.encoders:
        return
    ours, theirs = Counter(store.feature_names), Counter(fitted.feature_names)
    differ = sum(((ours - theirs) + (theirs - ours)).values())
    raise InputError(
        str(store.folder),
        "its features were made in another way than those the model was trained on",
        value=f"{differ} other names" if differ else "other scales, words or categories",
        way_out="write it again with `nodewise convert ... --like RUN`, to encode it as training",
    )
