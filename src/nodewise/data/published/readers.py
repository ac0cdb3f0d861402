"""From the bytes of raw files to plain arrays, one reader per format."""

from __future__ import annotations

import io
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack
from scipy.sparse.csgraph import connected_components

from nodewise.data.index_arrays import ArrayChecks
from nodewise.data.published.safe_pickle import FETCH, loads
from nodewise.errors import RawFileError

Masks = tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]


@dataclass(frozen=True)
class RawGraph:
    """A graph as its files have it, in plain arrays.

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
    """Read `ind.<name>.{x,y,tx,ty,allx,ally,graph,test.index}`, keyed by file name.

    Raises:
        RawFileError: A file is damaged, or its arrays do not fit the others.
    """
    parts = {name.split(".", 2)[2]: _planetoid_part(name, files[name]) for name in files}
    names = {name.split(".", 2)[2]: name for name in files}
    _check_planetoid(names, parts)
    test = parts["test.index"]
    rows = np.concatenate([np.arange(parts["allx"].shape[0]), test])
    num_nodes = int(rows.max(initial=-1)) + 1
    # Citeseer has 15 nodes in the range of test ids that are not test nodes: no features, no label.
    # PyG's argmax over their empty one-hot row calls them class 0. Here they are -1, unlabeled, so
    # that no random split trains on a label that does not exist; the public split has none.
    one_hot = np.concatenate([parts["ally"], parts["ty"]])
    y = np.full(num_nodes, -1, np.int64)
    y[rows] = np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1)
    return RawGraph(
        x=_place_rows(vstack([parts["allx"], parts["tx"]]), rows, num_nodes),
        edge_index=undirected(
            _adjacency_lists(names["graph"], parts["graph"], num_nodes), num_nodes
        ),
        y=y,
        masks=_public_masks(len(parts["y"]), test, num_nodes),
    )


def read_gnn_benchmark(
    files: Mapping[str, bytes], names: Sequence[str] = ("class_names",)
) -> RawGraph:
    """Read one npz of scipy CSR parts; keep the largest connected component, as the paper does.

    Args:
        files: The file's bytes, by its name.
        names: Which of the arrays `class_names` and `attr_names` to read; pickled ones are refused.

    Raises:
        RawFileError: The file is damaged, or its arrays do not fit each other.
    """
    ((name, content),) = files.items()
    npz = _read_npz(name, content, ("labels", *names, *_csr_keys("adj"), *_csr_keys("attr")))
    checks = _checks(name)
    adjacency, x = _csr(checks, npz, "adj"), _csr(checks, npz, "attr")
    nodes = x.shape[0]
    if adjacency.shape != (nodes, nodes) or nodes == 0:
        problem = f"must be twice {nodes}, the rows of attr_shape, and not 0"
        raise checks.wrong("adj_shape", problem, value=adjacency.shape)
    sizes = {"class_names": None, "attr_names": x.shape[1]}
    for key in names:
        checks.array(key, npz[key], kinds="U", shape=(sizes[key],))
    classes = len(npz["class_names"]) if "class_names" in npz else nodes
    checks.index("labels", npz["labels"], shape=(nodes,), bound=classes)
    keep = _largest_component(adjacency)
    return RawGraph(
        x=_tidy(x[keep]),
        edge_index=undirected(np.stack(adjacency[keep][:, keep].nonzero()), len(keep)),
        y=npz["labels"][keep].astype(np.int64),
        feature_names=_names(npz, "attr_names"),
        class_names=_names(npz, "class_names"),
    )


def read_heterophilous(files: Mapping[str, bytes]) -> RawGraph:
    """Read one npz of features, labels, edges (one direction each) and ten mask triples.

    Raises:
        RawFileError: The file is damaged, or its arrays do not fit each other.
    """
    ((name, content),) = files.items()
    masks = ("train_masks", "val_masks", "test_masks")
    npz = _read_npz(name, content, ("node_features", "node_labels", "edges", *masks))
    checks = _checks(name)
    checks.array("node_features", npz["node_features"], kinds="buif", shape=(None, None))
    nodes = len(npz["node_features"])
    checks.index("node_labels", npz["node_labels"], shape=(nodes,), least=-1, bound=nodes)
    checks.index("edges", npz["edges"], shape=(None, 2), bound=nodes)
    for key in masks:
        checks.array(key, npz[key], kinds="biu", shape=(None, nodes))
        checks.array(key, npz[key], kinds="biu", shape=npz[masks[0]].shape)
    return RawGraph(
        x=_tidy(csr_matrix(npz["node_features"].astype(np.float32))),
        edge_index=undirected(npz["edges"].T, nodes),
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
        return _whole_numbers(name, content)
    return loads(name, content)


def _whole_numbers(name: str, content: bytes) -> NDArray[np.int64]:
    try:
        return np.array(content.split(), dtype=np.int64)
    except (ValueError, OverflowError) as error:
        problem = f"must be lines of integers ({error})"
        raise RawFileError(name, problem, way_out=FETCH) from error


def _check_planetoid(names: Mapping[str, str], parts: Mapping[str, Any]) -> None:
    """Check that the parts fit each other, so that rows are put only where there are rows."""
    checks = ArrayChecks(error=RawFileError, way_out=FETCH)
    for part, kind in (("allx", csr_matrix), ("tx", csr_matrix), ("graph", dict)):
        if not isinstance(parts[part], kind):
            problem, found = f"must hold a {kind.__name__}", type(parts[part]).__name__
            raise checks.wrong(names[part], problem, value=found)
    (known, width), (tested, tested_width) = parts["allx"].shape, parts["tx"].shape
    if tested_width != width:
        problem = f"must have {width} columns, as {names['allx']} has"
        raise checks.wrong(names["tx"], problem, value=tested_width)
    # Every node has a list in the graph, so their count bounds the nodes.
    listed, test = len(parts["graph"]), parts["test.index"]
    checks.index(names["test.index"], test, shape=(tested,), least=known, bound=listed)
    checks.array(names["y"], parts["y"], kinds="buif", shape=(None, None))
    checks.array(names["ally"], parts["ally"], kinds="buif", shape=(known, None))
    classes = max(1, parts["ally"].shape[1])
    checks.array(names["ally"], parts["ally"], kinds="buif", shape=(known, classes))
    checks.array(names["ty"], parts["ty"], kinds="buif", shape=(tested, classes))


def _adjacency_lists(name: str, graph: Mapping[Any, Any], num_nodes: int) -> NDArray[np.int64]:
    checks = ArrayChecks(error=RawFileError, way_out=FETCH)
    for node, others in graph.items():
        if not isinstance(others, list) or any(type(end) is not int for end in (node, *others)):
            problem = "must be node numbers, each with a list of node numbers"
            raise checks.wrong(name, problem, value=reprlib.repr((node, others)))
    pairs = [(node, neighbor) for node, others in graph.items() for neighbor in others]
    ends = np.array(pairs) if pairs else np.empty((0, 2), np.int64)
    checks.index(name, ends, shape=(None, 2), bound=num_nodes)
    return ends.T


def _place_rows(matrix: Any, rows: NDArray[np.int64], num_nodes: int) -> Any:
    """A matrix of `num_nodes` rows, row i of `matrix` at `rows[i]`, zeros elsewhere."""
    columns = np.arange(len(rows))
    ones = np.ones(len(rows), np.float32)
    return _tidy(csr_matrix((ones, (rows, columns)), (num_nodes, len(rows))) @ matrix)


def _public_masks(num_train: int, test: NDArray[np.int64], num_nodes: int) -> Masks:
    """The split of Planetoid: the first nodes, the 500 after them, and the listed test nodes."""
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


def _names(npz: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    return tuple(npz[key].tolist()) if key in npz else None


def _csr_keys(prefix: str) -> tuple[str, str, str, str]:
    return f"{prefix}_data", f"{prefix}_indices", f"{prefix}_indptr", f"{prefix}_shape"


def _csr(checks: ArrayChecks, npz: Mapping[str, Any], prefix: str) -> Any:
    arrays = {key: npz[key] for key in _csr_keys(prefix)}
    shape = checks.csr(arrays)
    data, indices, indptr, _ = arrays.values()
    return csr_matrix((data.astype(np.float32), indices, indptr), shape)


def _checks(name: str) -> ArrayChecks:
    return ArrayChecks(name, RawFileError, FETCH)


def _read_npz(name: str, content: bytes, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as npz:
            return {key: npz[key] for key in keys}
    except Exception as error:  # a damaged archive fails in zipfile, zlib or numpy, each its way
        raise RawFileError(
            name,
            f"is damaged, or not an npz file ({type(error).__name__}: {error})",
            value=f"{len(content)} bytes",
            way_out=FETCH,
        ) from error
