"""Graphs in one npz file, as published ones are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nodewise.data.encoders.matrix import MatrixColumns
from nodewise.data.graph import GraphTable, Parts, assemble
from nodewise.data.options import ReadOptions, Roles
from nodewise.data.sources.cells import in_order
from nodewise.data.sources.npz_arrays import NpzArrays
from nodewise.data.splits.split import PARTS, Split
from nodewise.data.tables.edges import connect
from nodewise.data.tables.nodes import Labels, no_labels
from nodewise.data.tables.preprocessing import Preprocessing
from nodewise.data.tables.summary import roles_note
from nodewise.errors import GraphError


def read_npz(path: Path, options: ReadOptions, stored: Preprocessing | None = None) -> GraphTable:
    """Read a graph from an npz file; its features are taken as they are.

    Features are `attr_data` and the other arrays of a CSR matrix, or one of the arrays
    `attr_matrix`, `node_features`, `x`, `features`; edges are `adj_data` and so on, or `edges`
    (edges, 2), or `edge_index` (2, edges); labels `labels`, `node_labels` or `y`; masks
    `train_mask` or `train_masks`, of which the first is used, and so on; `class_names`,
    `attr_names` and `node_ids` are names; `directed` is true where edges have a direction. Weights
    are used where `weight` names the array that has them.

    Raises:
        TableError: The file is damaged, or has no such arrays.
    """
    with NpzArrays.load(path) as file:
        return _read(file, options, stored)


def _read(file: NpzArrays, options: ReadOptions, stored: Preprocessing | None) -> GraphTable:
    x = file.features()
    labels = _labels(file, x.shape[0], stored)
    fitted = stored or _new_preprocessing(file, x.shape[1], labels, options)
    _check_width(file, x.shape[1], fitted)
    ends = file.ends(x.shape[0])
    name = options.weight or fitted.roles.weight
    weight = None if name is None else file.weights(name, ends.shape[1])
    edges = connect(ends, x.shape[0], directed=fitted.directed, weight=weight)
    ids = file.ids(x.shape[0])
    notes = tuple(_weight_notes(file, name, ends.shape[1]))
    parts = Parts(ids, x, edges, labels, fitted, split=_split(file, labels.y), notes=notes)
    try:
        return assemble(parts, options.sparse)
    except GraphError as error:
        raise file.error(str(error), way_out="correct the arrays and save them again") from error


def _weight_notes(file: NpzArrays, used: str | None, count: int) -> Iterator[str]:
    if used is not None:
        yield from roles_note(Roles(weight=used))
        return
    for name in file.unused_weights(count):
        yield f"{name} of edges not used; --weight {name} uses it"


def _labels(file: NpzArrays, num_nodes: int, fitted: Preprocessing | None) -> Labels:
    numbers = file.labels()
    if numbers is None:
        return no_labels(num_nodes, () if fitted is None else fitted.class_names)
    if len(numbers) != num_nodes:
        raise file.error(
            f"has labels for another count of nodes than {num_nodes}, which have features",
            value=len(numbers),
            way_out="give one label for each node, -1 for none",
        )
    highest = int(numbers.max(initial=-1))
    names = None if fitted is None else fitted.class_names
    names = names or file.names("class_names", highest + 1)
    if names is not None:
        known = numbers < len(names)
        y = np.where(known & (numbers >= 0), numbers, -1)
        return Labels(y, names, int((~known).sum()))
    labels = _numbered(numbers)
    if len(labels.class_names) < 2:
        raise file.error(
            "has one class only",
            value=", ".join(labels.class_names),
            way_out="label nodes of two classes at least",
        )
    return labels


def _numbered(numbers: NDArray[np.int64]) -> Labels:
    """Labels without names, called by their numbers; numbers may have gaps."""
    names = in_order(str(number) for number in np.unique(numbers[numbers >= 0]))
    y = np.searchsorted(np.array(names, np.int64), numbers)
    return Labels(np.where(numbers >= 0, y, -1), names)


def _new_preprocessing(
    file: NpzArrays, width: int, labels: Labels, options: ReadOptions
) -> Preprocessing:
    names = file.names("attr_names", width) or tuple(f"feature_{i}" for i in range(width))
    encoders = (MatrixColumns(features=names),)
    directed, roles = options.directed or file.directed, Roles(weight=options.weight)
    return Preprocessing(encoders, labels.class_names, roles, directed)


def _check_width(file: NpzArrays, width: int, fitted: Preprocessing) -> None:
    expected = len(fitted.feature_names)
    if width != expected:
        raise file.error(
            f"the model was fitted to {expected} features",
            value=width,
            way_out="give a graph with the same features",
        )


def _split(file: NpzArrays, y: NDArray[np.int64]) -> Split | None:
    masks = [file.mask(part) for part in PARTS]
    if any(mask is None or len(mask) != len(y) for mask in masks):
        return None
    return Split.from_masks(*(mask & (y >= 0) for mask in masks if mask is not None))
