"""Graphs of PyG, as they are, with a summary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nodewise.data.checks import check_data
from nodewise.data.encoders.matrix import MatrixColumns
from nodewise.data.graph import GraphTable, features_by_kind
from nodewise.data.splits.checks import MASKS
from nodewise.data.splits.split import Split
from nodewise.data.tables.edges import connect
from nodewise.data.tables.nodes import Labels, no_labels
from nodewise.data.tables.preprocessing import Preprocessing
from nodewise.data.tables.summary import Summary

if TYPE_CHECKING:
    from torch_geometric.data import Data


def from_pyg(data: Data) -> GraphTable:
    """Check a graph of PyG and summarize it; `data` itself is in the result, unchanged.

    Raises:
        GraphError: The graph is malformed.
        SplitError: Its masks are.
    """
    check_data(data)
    return describe(data)


def describe(data: Data, source: Mapping[str, Any] | None = None) -> GraphTable:
    """A graph that has been checked, with its summary.

    Args:
        data: The graph.
        source: Where it comes from, as a run's record has it.
    """
    nodes, width = data.x.shape
    index = data.edge_index.cpu().numpy()
    directed = not _goes_both_ways(index, nodes)
    labels = _labels(data, nodes)
    names = tuple(data.get("feature_names") or (f"feature_{i}" for i in range(width)))
    fitted = Preprocessing((MatrixColumns(features=names),), labels.class_names, directed=directed)
    edges = connect(index, nodes, directed=directed)
    summary = Summary(
        nodes=nodes,
        edges=edges.count,
        directed=directed,
        isolated=int((edges.degrees == 0).sum()),
        labels=labels.counts(),
        unlabeled=int((labels.y < 0).sum()),
        features=features_by_kind(fitted),
        split=_split_sizes(data),
    )
    return GraphTable(data, tuple(range(nodes)), summary, fitted, source or {})


def _labels(data: Data, nodes: int) -> Labels:
    if data.get("y") is None:
        return no_labels(nodes)
    y = data.y.cpu().numpy()
    names = data.get("class_names") or map(str, range(int(y.max()) + 1))
    return Labels(y, tuple(names))


def _goes_both_ways(index: NDArray[np.int64], nodes: int) -> bool:
    source, target = connect(index, nodes, directed=True).index
    return np.array_equal(source * nodes + target, np.sort(target * nodes + source))


def _split_sizes(data: Data) -> dict[str, int] | None:
    if MASKS[0] not in data:
        return None
    split = Split.from_masks(*(data[name].cpu().numpy() for name in MASKS))
    return {name: len(nodes) for name, nodes in split}
