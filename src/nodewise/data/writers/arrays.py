"""The parts of a graph as plain arrays, which every file format is written from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodewise.data.splits.split import PARTS

if TYPE_CHECKING:
    from torch_geometric.data import Data

_CHUNK = 1 << 22  # cells that are dense at a time


class EdgeRows(NamedTuple):
    """The edges of a graph as the rows of a table.

    Attributes:
        ends: Sources and targets (2, rows); an undirected edge is one row.
        weights: A float32 for each row, or None.
        directed: Whether edges have a direction.
    """

    ends: NDArray[np.int64]
    weights: NDArray[np.float32] | None
    directed: bool


def ids_array(ids: Sequence[Any]) -> NDArray[Any]:
    """Node ids: 64-bit integers where all of them are integers, else texts."""
    are_integers = all(isinstance(name, int | np.integer) for name in ids)
    return np.array(list(ids), np.int64) if are_integers else np.array([str(name) for name in ids])


def features_of(data: Data) -> tuple[Any, tuple[str, ...]]:
    """The features, a float32 array or a scipy CSR matrix as `x` is, and a name for each."""
    names = data.get("feature_names") or [f"feature_{i}" for i in range(data.x.size(1))]
    return _matrix(data.x), tuple(map(str, names))


def labels_of(data: Data) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Class numbers, -1 where there is no label, and the names of the classes.

    There are no names where no node has a label.
    """
    if data.get("y") is None:
        return np.full(data.x.size(0), -1), ()
    y = _array(data.y).astype(np.int64)
    numbers = [str(k) for k in range(int(y.max(initial=-1)) + 1)]
    names = data.get("class_names") or numbers
    return y, tuple(map(str, names)) if (y >= 0).any() else ()


def edges_of(data: Data) -> EdgeRows:
    """The edges; a graph is undirected if each has its reverse, of the same weight."""
    ends, weight = _array(data.edge_index), data.get("edge_weight")
    weights = None if weight is None else _array(weight).astype(np.float32)
    directed = not _goes_both_ways(ends, weights, data.x.size(0))
    rows = np.ones(ends.shape[1], np.bool_) if directed else ends[0] <= ends[1]
    return EdgeRows(ends[:, rows], None if weights is None else weights[rows], directed)


def masks_of(data: Data) -> dict[str, NDArray[np.bool_]]:
    """The nodes of each part of the split, by its name; empty where there is no split."""
    found = {part: data.get(f"{part}_mask") for part in PARTS}
    return {part: _array(mask) for part, mask in found.items() if mask is not None}


def dense_chunks(features: Any) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Some rows at a time, as arrays; sparse features would not fit the memory at once."""
    nodes, width = features.shape
    step = max(1, _CHUNK // max(width, 1))
    for start in range(0, nodes, step):
        rows = slice(start, min(start + step, nodes))
        chunk = features[rows]
        yield rows, chunk if isinstance(chunk, np.ndarray) else chunk.toarray()


def _array(tensor: Tensor) -> Any:
    return tensor.detach().cpu().numpy()


def _matrix(x: Tensor) -> Any:
    from scipy.sparse import csr_matrix

    if x.layout is not torch.sparse_csr:
        return _array(x).astype(np.float32, copy=False)
    parts = tuple(_array(part) for part in (x.values(), x.col_indices(), x.crow_indices()))
    return csr_matrix(parts, shape=tuple(x.shape), dtype=np.float32)


def _goes_both_ways(
    ends: NDArray[np.int64], weights: NDArray[np.float32] | None, nodes: int
) -> bool:
    forward, backward = (pair[0] * nodes + pair[1] for pair in (ends, ends[::-1]))
    there, back = np.argsort(forward, kind="stable"), np.argsort(backward, kind="stable")
    same = np.array_equal(forward[there], backward[back])
    return same and (weights is None or np.array_equal(weights[there], weights[back]))
