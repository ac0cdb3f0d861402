"""From the bytes of raw files to plain arrays, one reader per format."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack
from scipy.sparse.csgraph import connected_components

from nodewise.data.safe_pickle import loads
from nodewise.errors import RawFileError

Masks = tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]


@dataclass(frozen=True)
class RawGraph:
    """A graph as its files tell it, in plain arrays.

    Args:
        x: Features as scipy CSR, float32, shape (nodes, features).
        edge_index: Both directions of every edge, sorted, without repeats and self-loops, (2, E).
        y: Labels, -1 where there is none, shape (nodes,).
        masks: Train, validation and test masks that come with the data, each (splits, nodes).
        feature_names: One name per feature, if the files have them.
        class_names: One name per class, if the files have them.
        extras: Further fields for PyG's Data; only generated graphs have them, they are not cached.
    """

    x: Any
    edge_index: NDArray[np.int64]
    y: NDArray[np.int64]
    masks: Masks | None = None
    feature_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)


def read_planetoid(files: Mapping[str, bytes]) -> RawGraph:
    """Read `ind.<name>.{x,y,tx,ty,allx,ally,graph,test.index}`, keyed by file name."""
    parts = {name.split(".", 2)[2]: _planetoid_part(name, files[name]) for name in files}
    test = parts["test.index"]
    rows = np.concatenate([np.arange(parts["allx"].shape[0]), test])
    num_nodes = int(rows.max()) + 1
    # Citeseer has 15 nodes in the range of test ids that are not test nodes: no features, no label.
    # PyG's argmax over their empty one-hot row calls them class 0. Here they are -1, unlabelled, so
    # that no random split can learn or judge by a label nobody gave; the public split has none.
    one_hot = np.concatenate([parts["ally"], parts["ty"]])
    y = np.full(num_nodes, -1, np.int64)
    y[rows] = np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1)
    return RawGraph(
        x=_place_rows(vstack([parts["allx"], parts["tx"]]), rows, num_nodes),
        edge_index=undirected(_adjacency_lists(parts["graph"]), num_nodes),
        y=y,
        masks=_public_masks(len(parts["y"]), test, num_nodes),
    )


def read_amazon(files: Mapping[str, bytes]) -> RawGraph:
    """Read one npz of scipy CSR parts; keep the largest connected component, as the paper does."""
    ((name, content),) = files.items()
    npz = _read_npz(name, content, ("labels", "class_names", *_csr_keys("adj"), *_csr_keys("attr")))
    adjacency = csr_matrix(tuple(npz[key] for key in _csr_keys("adj")[:3]), npz["adj_shape"])
    x = csr_matrix(tuple(npz[key] for key in _csr_keys("attr")[:3]), npz["attr_shape"])
    keep = _largest_component(adjacency)
    return RawGraph(
        x=_tidy(x[keep]),
        edge_index=undirected(np.stack(adjacency[keep][:, keep].nonzero()), len(keep)),
        y=npz["labels"][keep].astype(np.int64),
        class_names=tuple(npz["class_names"].tolist()),
    )


def read_wikipedia(files: Mapping[str, bytes]) -> RawGraph:
    """Read one npz of features, labels, edges (one direction each) and ten mask triples."""
    ((name, content),) = files.items()
    masks = ("train_masks", "val_masks", "test_masks")
    npz = _read_npz(name, content, ("node_features", "node_labels", "edges", *masks))
    return RawGraph(
        x=_tidy(csr_matrix(npz["node_features"])),
        edge_index=undirected(npz["edges"].T, len(npz["node_labels"])),
        y=npz["node_labels"].astype(np.int64),
        masks=cast(Masks, tuple(npz[key].astype(np.bool_) for key in masks)),
    )


def undirected(edges: NDArray[Any], num_nodes: int) -> NDArray[np.int64]:
    """Both directions of every edge (2, E), sorted, without repeats and self-loops."""
    source, target = edges.astype(np.int64)
    both = np.concatenate([source * num_nodes + target, target * num_nodes + source])
    pairs = np.stack(np.divmod(np.unique(both), num_nodes))
    return np.ascontiguousarray(pairs[:, pairs[0] != pairs[1]])


def _planetoid_part(name: str, content: bytes) -> Any:
    if name.endswith(".test.index"):
        return np.array(content.split(), dtype=np.int64)
    return loads(name, content)


def _adjacency_lists(graph: Mapping[int, Sequence[int]]) -> NDArray[np.int64]:
    pairs = [(node, neighbour) for node, others in graph.items() for neighbour in others]
    return np.array(pairs, dtype=np.int64).T


def _place_rows(matrix: Any, rows: NDArray[np.int64], num_nodes: int) -> Any:
    """A matrix of `num_nodes` rows, row i of `matrix` at `rows[i]`, zeros elsewhere."""
    columns = np.arange(len(rows))
    ones = np.ones(len(rows), np.float32)
    return _tidy(csr_matrix((ones, (rows, columns)), (num_nodes, len(rows))) @ matrix)


def _public_masks(num_train: int, test: NDArray[np.int64], num_nodes: int) -> Masks:
    """Planetoid's own split: the first nodes, the 500 after them, and the listed test nodes."""
    masks = np.zeros((3, 1, num_nodes), np.bool_)
    masks[0, 0, :num_train] = True
    masks[1, 0, num_train : num_train + 500] = True
    masks[2, 0, test] = True
    return masks[0], masks[1], masks[2]


def _largest_component(adjacency: Any) -> NDArray[np.int64]:
    _, component = connected_components(adjacency, directed=True, connection="weak")
    return np.flatnonzero(component == np.bincount(component).argmax()).astype(np.int64)


def _tidy(matrix: Any) -> Any:
    """CSR in float32 with sorted columns and no stored zeros: equal matrices, equal arrays."""
    tidy = csr_matrix(matrix, dtype=np.float32)
    tidy.sum_duplicates()
    tidy.eliminate_zeros()
    return tidy


def _csr_keys(prefix: str) -> tuple[str, str, str, str]:
    return f"{prefix}_data", f"{prefix}_indices", f"{prefix}_indptr", f"{prefix}_shape"


def _read_npz(name: str, content: bytes, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as npz:
            return {key: npz[key] for key in keys}
    except Exception as error:  # a damaged archive fails in zipfile, zlib or numpy, each its way
        raise RawFileError(
            name,
            f"is not a whole npz file ({type(error).__name__}: {error})",
            value=f"{len(content)} bytes",
            way_out="delete the file and fetch it again from its public home",
        ) from error
