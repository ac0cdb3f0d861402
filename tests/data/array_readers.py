"""Everything that reads index arrays: by name, a function from arrays and a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch_geometric.data import Data

import nodewise as nw
from nodewise.data.checks import check_graph
from nodewise.data.features import to_csr
from nodewise.data.index_arrays import ArrayChecks
from nodewise.data.published import cache
from nodewise.data.published.readers import (
    read_gnn_benchmark,
    read_heterophilous,
    read_planetoid,
)
from nodewise.data.writers.write_graph import write_graph
from tests.data.bad_arrays import PAIRS, PARTS
from tests.data.raw_files import dumps, npz_file, planetoid_files

EDGES = torch.from_numpy(PAIRS.T.copy())
Parts = dict[str, Any]
Entry = Callable[[Parts, Path], object]


def arrays_of(found: Any) -> dict[str, Any]:
    """What an entry point has read, as plain arrays, so that two readings can be compared."""
    if isinstance(found, torch.Tensor | tuple):
        return {"found": _dense(found)}
    graph = found.data if isinstance(found, nw.GraphTable) else found
    return {"x": _dense(graph.x), "edge_index": np.asarray(graph.edge_index)}


def _dense(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return x.to_dense().numpy()
    return x.toarray() if hasattr(x, "toarray") else np.asarray(x)


def named(prefix: str, parts: Parts) -> Parts:
    return {f"{prefix}_{part}": array for part, array in parts.items()}


def unpickled_csr(parts: Parts) -> Any:
    """A CSR matrix with these attributes, built without a check, as an unpickler builds it."""
    matrix = csr_matrix.__new__(csr_matrix)
    matrix.__dict__ |= {part: parts[part] for part in ("data", "indices", "indptr")}
    matrix.__dict__["_shape"] = parts["shape"].tolist()
    return matrix


def read_npz(arrays: Parts, folder: Path) -> nw.GraphTable:
    np.savez(folder / "graph.npz", **arrays)
    return nw.read_graph(folder / "graph.npz")


def npz_features(parts: Parts, folder: Path) -> object:
    return read_npz({**named("attr", parts), "edges": PAIRS}, folder)


def npz_adjacency(parts: Parts, folder: Path) -> object:
    return read_npz({**named("adj", parts), "x": np.eye(4)}, folder)


def amazon(adjacency: Parts, attributes: Parts) -> object:
    arrays = {**named("adj", adjacency), **named("attr", attributes)}
    labels = {"labels": np.array([0, 1, 0, 1]), "class_names": ["a", "b"]}
    return read_gnn_benchmark({"graph.npz": npz_file(**arrays, **labels)})


def planetoid(parts: Parts, _: Path) -> object:
    return read_planetoid({**planetoid_files(), "ind.mini.allx": dumps(unpickled_csr(parts))})


def cached_graph(parts: Parts, _: Path) -> object:
    arrays = {**named("x", parts), "edge_index": EDGES.numpy(), "y": np.zeros(4, np.int64)}
    return cache._to_graph(arrays, {"feature": None, "class": None})


def sparse_x(parts: Parts) -> torch.Tensor | None:
    """Features of torch, built as by default: without a check. None where torch refuses them."""
    try:
        values, col, crow = (
            torch.from_numpy(parts[part]) for part in ("data", "indices", "indptr")
        )
        size = tuple(parts["shape"].tolist())
        return torch.sparse_csr_tensor(crow, col, values, size=size, check_invariants=False)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None


def graph_of(parts: Parts) -> Data:
    return Data(x=sparse_x(parts), edge_index=EDGES, y=torch.tensor([0, 1, 0, 1]))


CSR_ENTRIES: dict[str, Entry] = {
    "the check": lambda parts, _: ArrayChecks().csr(parts),
    "features of an npz": npz_features,
    "adjacency of an npz": npz_adjacency,
    "features of amazon": lambda parts, _: amazon(PARTS, parts),
    "adjacency of amazon": lambda parts, _: amazon(parts, PARTS),
    "planetoid": planetoid,
    "cache": cached_graph,
    "scipy to torch": lambda parts, _: to_csr(unpickled_csr(parts)),
}
TORCH_ENTRIES: dict[str, Entry] = {
    "check_graph": lambda parts, _: check_graph(sparse_x(parts), EDGES),
    "read_graph": lambda parts, _: nw.read_graph(graph_of(parts)),
    "write_graph": lambda parts, folder: write_graph(graph_of(parts), folder / "tables"),
    "fit": lambda parts, _: nw.NodeClassifier("GCN").fit(graph_of(parts), [0, 1, 2, 3]),
}


def npz_pairs(pairs: Any, folder: Path) -> object:
    return read_npz({"x": np.eye(4), "edges": pairs}, folder)


def npz_edge_index(pairs: Any, folder: Path) -> object:
    return read_npz({"x": np.eye(4), "edge_index": pairs.T}, folder)


def wikipedia(pairs: Any, _: Path) -> object:
    four = {"node_features": np.eye(4), "node_labels": np.array([0, 1, 0, 1])}
    masks = {f"{part}_masks": np.eye(4, dtype=bool) for part in ("train", "val", "test")}
    return read_heterophilous({"graph.npz": npz_file(**four, **masks, edges=pairs)})


def cached_edges(pairs: Any, _: Path) -> object:
    arrays = {**named("x", PARTS), "edge_index": pairs.T, "y": np.zeros(4, np.int64)}
    return cache._to_graph(arrays, {"feature": None, "class": None})


EDGE_ENTRIES = {
    "edges of an npz": npz_pairs,
    "edge_index of an npz": npz_edge_index,
    "edges of wikipedia": wikipedia,
    "cache": cached_edges,
}
