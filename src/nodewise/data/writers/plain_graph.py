"""A graph as plain arrays, ready to be written: what every format makes its file of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nodewise.data.splits import PARTS

if TYPE_CHECKING:
    from torch_geometric.data import Data

_CHUNK = 1 << 22  # cells that are dense at a time


@dataclass(frozen=True, eq=False)
class PlainGraph:
    """A graph in arrays.

    Attributes:
        ids: The nodes' names: 64-bit integers, or texts, shape (nodes,).
        features: A NumPy array or scipy CSR matrix (nodes, features), float32.
        feature_names: A name for each feature.
        y: Class numbers, -1 where there is no label, shape (nodes,).
        class_names: A name for each class; none where nobody has a label.
        ends: Sources and targets (2, rows); an undirected edge is one row.
        weights: A float32 for each row, or None.
        directed: Whether edges have a direction.
        masks: The nodes of each part of the split, by its name; empty where there is none.
    """

    ids: NDArray[Any]
    features: Any
    feature_names: tuple[str, ...]
    y: NDArray[np.int64]
    class_names: tuple[str, ...]
    ends: NDArray[np.int64]
    weights: NDArray[np.float32] | None
    directed: bool
    masks: dict[str, NDArray[np.bool_]]

    @classmethod
    def of(cls, data: Data, ids: Sequence[Any] | None = None) -> PlainGraph:
        """From a checked graph of PyG's, and its nodes' own names, else their numbers."""
        nodes, width = data.x.shape
        y = np.full(nodes, -1) if data.get("y") is None else _array(data.y).astype(np.int64)
        classes = [str(k) for k in range(int(y.max(initial=-1)) + 1)]
        names = data.get("feature_names") or [f"feature_{i}" for i in range(width)]
        ends, weight = _array(data.edge_index), data.get("edge_weight")
        weights = None if weight is None else _array(weight).astype(np.float32)
        both_ways = _goes_both_ways(ends, weights, nodes)
        rows = ends[0] <= ends[1] if both_ways else np.ones(ends.shape[1], np.bool_)
        return cls(
            _ids(range(nodes) if ids is None else ids),
            _features(data.x),
            tuple(map(str, names)),
            y,
            tuple(map(str, data.get("class_names") or classes)) if (y >= 0).any() else (),
            ends[:, rows],
            None if weights is None else weights[rows],
            not both_ways,
            {p: _array(data[f"{p}_mask"]) for p in PARTS if data.get(f"{p}_mask") is not None},
        )

    def dense_chunks(self) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """The features some rows at a time, as arrays; sparse ones would not fit at once."""
        nodes, width = self.features.shape
        step = max(1, _CHUNK // max(width, 1))
        for start in range(0, nodes, step):
            rows = slice(start, min(start + step, nodes))
            block = self.features[rows]
            yield rows, block if isinstance(block, np.ndarray) else block.toarray()


def _array(tensor: Tensor) -> Any:
    return tensor.detach().cpu().numpy()


def _features(x: Tensor) -> Any:
    """A float32 array, or a CSR matrix where `x` is one."""
    from scipy.sparse import csr_matrix

    if x.layout is not torch.sparse_csr:
        return _array(x).astype(np.float32, copy=False)
    parts = tuple(_array(part) for part in (x.values(), x.col_indices(), x.crow_indices()))
    return csr_matrix(parts, shape=tuple(x.shape), dtype=np.float32)


def _ids(ids: Sequence[Any]) -> NDArray[Any]:
    """Integers where all of them are, else texts."""
    whole = all(isinstance(name, int | np.integer) for name in ids)
    return np.array(list(ids), np.int64) if whole else np.array([str(name) for name in ids])


def _goes_both_ways(
    ends: NDArray[np.int64], weights: NDArray[np.float32] | None, nodes: int
) -> bool:
    """Whether every edge has its reverse, of the same weight."""
    forward, backward = (pair[0] * nodes + pair[1] for pair in (ends, ends[::-1]))
    there, back = np.argsort(forward, kind="stable"), np.argsort(backward, kind="stable")
    same = np.array_equal(forward[there], backward[back])
    return same and (weights is None or np.array_equal(weights[there], weights[back]))
