"""`load_dataset`: a published data set, by its name, as a graph of PyG with a split."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch

from nodewise.data.checks import check_data
from nodewise.data.features import to_tensor
from nodewise.data.published.catalog import Dataset, find_dataset
from nodewise.data.published.files import data_root
from nodewise.data.published.readers import RawGraph
from nodewise.data.splits.drawn import NAMED_SPLITS, random_split
from nodewise.data.splits.split import Split
from nodewise.errors import SplitError, UnknownNameError

if TYPE_CHECKING:
    from torch_geometric.data import Data


def load_dataset(
    name: str,
    root: str | Path | None = None,
    *,
    sparse: bool | None = False,
    split: Split | int | Literal["public", "random", "few", "many"] | None = None,
    seed: int = 0,
) -> Data:
    """Load a data set by name, such as "cora"; `nodewise datasets` lists them.

    Raw files that are not under the data root are downloaded and checked. Features are those of
    the files; a recipe says how they are normalized.

    Args:
        name: Which data set.
        root: The folder of raw files; else `NODEWISE_DATA`, else a folder in the user's cache.
        sparse: Whether `x` is a `torch.sparse_csr` tensor; None decides by density and size, as
            `read_graph` does. Much of PyG requires it to be dense.
        split: None for the data set's default; a `Split`; k for the k-th split stored with the
            data; "public" for the first of those; "random" for one drawn as the paper does; "few"
            for 20 training nodes of each class; "many" for 60 % of each class.
        seed: Which split, where one is drawn.

    Returns:
        A graph with `x` (nodes, features) float32, `edge_index` (2, edges) with both directions of
        every edge and neither repeats nor self-loops, `y` (nodes) int64 with -1 for nodes without
        a label, `train_mask`, `val_mask` and `test_mask` (nodes), and `feature_names` and
        `class_names` where they are known.

    Raises:
        UnknownNameError: There is no such data set.
        RawFileError: A raw file cannot be downloaded, or is not the published one.
        SplitError: The data set cannot be split like that.
    """
    dataset = find_dataset(name)
    graph = dataset.graph(data_root(root))
    data = _to_data(graph, sparse)
    _choose_split(dataset, graph, split, seed).apply(data)
    check_data(data)
    return data


def load_without_split(name: str, root: str | Path | None = None) -> Data:
    """Load a data set as `load_dataset` does, without masks: no split is drawn."""
    data = _to_data(find_dataset(name).graph(data_root(root)), sparse=False)
    check_data(data)
    return data


def feature_density(graph: RawGraph) -> float:
    """The share of the feature matrix that is not zero."""
    nodes, features = graph.x.shape
    return float(graph.x.count_nonzero() / (nodes * features))


def edge_homophily(graph: RawGraph) -> float | None:
    """The share of edges between nodes of one class, of the edges between labeled nodes.

    None if there is no such edge.
    """
    source, target = graph.y[graph.edge_index]
    labeled = (source >= 0) & (target >= 0)
    return float(np.mean(source[labeled] == target[labeled])) if labeled.any() else None


def _to_data(graph: RawGraph, sparse: bool | None) -> Data:
    from torch_geometric.data import Data  # takes seconds, so only when a graph is wanted

    data = Data(
        x=to_tensor(graph.x, sparse),
        edge_index=torch.from_numpy(graph.edge_index),
        y=torch.from_numpy(graph.y),
        **graph.extras,
    )
    for field in ("feature_names", "class_names"):
        names = getattr(graph, field)
        if names is not None:
            data[field] = list(names)
    return data


def _choose_split(
    dataset: Dataset, graph: RawGraph, split: Split | int | str | None, seed: int
) -> Split:
    if isinstance(split, Split):
        return split
    choice = dataset.default_stored if split is None else split
    if choice is None or choice == "random":
        return random_split(graph.y, dataset.per_class, dataset.val, dataset.test, seed)
    if choice in NAMED_SPLITS:
        return NAMED_SPLITS[choice](graph.y, seed)
    if isinstance(choice, str) and choice != "public":
        raise UnknownNameError("split", choice, ("public", "random", *NAMED_SPLITS))
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
