"""`load_dataset`: a name in, a graph of PyTorch Geometric with a split out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from nodewise.data.catalog import Dataset, find_dataset
from nodewise.data.checks import check_data
from nodewise.data.files import data_root
from nodewise.data.index_arrays import ArrayChecks
from nodewise.data.readers import RawGraph
from nodewise.data.splits import Split, random_split
from nodewise.errors import GraphError, SplitError, UnknownNameError

if TYPE_CHECKING:
    from torch_geometric.data import Data


def load_dataset(
    name: str,
    root: str | Path | None = None,
    *,
    sparse: bool = False,
    split: Split | int | Literal["public", "random"] | None = None,
    seed: int = 0,
) -> Data:
    """Load a data set by name: toy, cora, citeseer, amazon, chameleon or chameleon-filtered.

    Raw files that are not under the data root are downloaded and checked. Features come as the
    files have them; normalizing them is the recipe's business.

    Args:
        name: Which data set.
        root: The folder of raw files; else `NODEWISE_DATA`, else a folder in the user's cache.
        sparse: Give `x` as a `torch.sparse_csr` tensor; much of PyG wants it dense.
        split: None for the data set's default; a split of your own; k for the k-th split stored
            with the data; "public" for the first of those; "random" for a drawn one.
        seed: Which random split, where one is drawn.

    Returns:
        A graph with `x` (nodes, features) float32, `edge_index` (2, edges) with both directions of
        every edge and neither repeats nor self-loops, `y` (nodes) int64 with -1 for nodes without
        a label, `train_mask`, `val_mask` and `test_mask` (nodes), and `feature_names` and
        `class_names` where they are known.

    Raises:
        UnknownNameError: There is no such data set.
        RawFileError: A raw file cannot be had, or is not the published one.
        SplitError: The data set cannot be split like that.
    """
    dataset = find_dataset(name)
    graph = dataset.graph(data_root(root))
    data = _to_data(graph, sparse)
    _choose_split(dataset, graph, split, seed).apply(data)
    check_data(data)
    return data


def _to_data(graph: RawGraph, sparse: bool) -> Data:
    from torch_geometric.data import Data  # takes seconds, so only when a graph is wanted

    data = Data(
        x=to_csr(graph.x) if sparse else torch.from_numpy(graph.x.toarray()),
        edge_index=torch.from_numpy(graph.edge_index),
        y=torch.from_numpy(graph.y),
        **graph.extras,
    )
    for field in ("feature_names", "class_names"):
        names = getattr(graph, field)
        if names is not None:
            data[field] = list(names)
    return data


def to_csr(x: Any) -> Tensor:
    """A scipy CSR matrix as a `torch.sparse_csr` tensor.

    Raises:
        GraphError: Its arrays are no such matrix.
    """
    parts = {f"x.{part}": getattr(x, part) for part in ("data", "indices", "indptr", "shape")}
    ArrayChecks(error=GraphError, way_out="build the matrix anew").csr(parts)
    with warnings.catch_warnings():
        # torch announces once per process that CSR is in beta; nobody can act on it.
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta", UserWarning)
        return torch.sparse_csr_tensor(
            torch.from_numpy(x.indptr.astype("int64")),
            torch.from_numpy(x.indices.astype("int64")),
            torch.from_numpy(x.data),
            size=x.shape,
            check_invariants=True,
        )


def _choose_split(
    dataset: Dataset, graph: RawGraph, split: Split | int | str | None, seed: int
) -> Split:
    if isinstance(split, Split):
        return split
    choice = dataset.default_stored if split is None else split
    if choice is None or choice == "random":
        return random_split(graph.y, dataset.per_class, dataset.val, dataset.test, seed)
    if isinstance(choice, str) and choice != "public":
        raise UnknownNameError("split", choice, ("public", "random"))
    return _stored_split(dataset, graph, 0 if choice == "public" else int(choice))


def _stored_split(dataset: Dataset, graph: RawGraph, index: int) -> Split:
    count = 0 if graph.masks is None else len(graph.masks[0])
    if graph.masks is None or not 0 <= index < count:
        raise SplitError(
            "split",
            f"{dataset.name} comes with {count} stored splits, counted from 0",
            value=index,
            way_out="name one of those, 'random', or a nodewise.Split of your own",
        )
    train, val, test = (mask[index] for mask in graph.masks)
    return Split.from_masks(train, val, test)
