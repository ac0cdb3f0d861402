"""A graph as one npz file, in arrays that `read_npz` knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from nodewise.data.writers.plain_graph import PlainGraph
from nodewise.io import replacing

WEIGHT = "edge_weight"


def write_npz(path: Path, graph: PlainGraph) -> dict[str, str]:
    """Write everything; gives the array of weights, if there is one, by its role."""
    arrays: dict[str, Any] = {
        **_features(graph.features),
        "attr_names": np.array(graph.feature_names),
        "node_ids": graph.ids,
        "edge_index": graph.ends,
        "directed": np.array(graph.directed),
        **{f"{part}_mask": mask for part, mask in graph.masks.items()},
    }
    if graph.class_names:
        arrays |= {"labels": graph.y, "class_names": np.array(graph.class_names)}
    if graph.weights is not None:
        arrays[WEIGHT] = graph.weights
    with replacing(path) as stream:
        np.savez_compressed(stream, **arrays)
    return {} if graph.weights is None else {"weight": WEIGHT}


def _features(matrix: Any) -> dict[str, Any]:
    if isinstance(matrix, np.ndarray):
        return {"x": matrix}
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    return {f"attr_{name}": part for name, part in parts.items()} | {"attr_shape": matrix.shape}
