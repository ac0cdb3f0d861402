"""A graph as one npz file, in arrays that `read_npz` knows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nodewise.data.writers.arrays import edges_of, features_of, ids_array, labels_of, masks_of
from nodewise.io import replacing

if TYPE_CHECKING:
    from torch_geometric.data import Data

WEIGHT = "edge_weight"


def write_npz(path: Path, data: Data, ids: Sequence[Any]) -> dict[str, str]:
    """Write a graph; returns the options that read it back."""
    matrix, feature_names = features_of(data)
    (y, class_names), edges = labels_of(data), edges_of(data)
    arrays: dict[str, Any] = {
        **_features(matrix),
        "attr_names": np.array(feature_names),
        "node_ids": ids_array(ids),
        "edge_index": edges.ends,
        "directed": np.array(edges.directed),
        **{f"{part}_mask": mask for part, mask in masks_of(data).items()},
    }
    if class_names:
        arrays |= {"labels": y, "class_names": np.array(class_names)}
    if edges.weights is not None:
        arrays[WEIGHT] = edges.weights
    with replacing(path) as stream:
        np.savez_compressed(stream, **arrays)
    return {} if edges.weights is None else {"weight": WEIGHT}


def _features(matrix: Any) -> dict[str, Any]:
    if isinstance(matrix, np.ndarray):
        return {"x": matrix}
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    return {f"attr_{name}": part for name, part in parts.items()} | {"attr_shape": matrix.shape}
