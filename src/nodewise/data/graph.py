"""`GraphTable`: a graph that was read, from tables or a data set, and how to read another."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from nodewise.data.checks import check_graph
from nodewise.data.features import to_tensor
from nodewise.data.fingerprints import graph_sha256
from nodewise.data.splits.split import Split
from nodewise.data.tables.edges import Edges
from nodewise.data.tables.nodes import Labels
from nodewise.data.tables.preprocessing import Preprocessing
from nodewise.data.tables.summary import Summary, weight_notes

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False)
class GraphTable:
    """A graph with the ids of its nodes, a summary, and the preprocessing of its features.

    Args:
        data: PyG's graph: `x` (nodes, features) float32, dense or `torch.sparse_csr`; `edge_index`
            (2, edges) without repeats and self-loops, both directions of undirected edges; `y`
            (nodes) int64 with -1 for no label; `class_names`, `feature_names`; `edge_weight`
            (edges) if there are weights; `train_mask`, `val_mask` and `test_mask` if a split was
            given.
        ids: The ids of the nodes, in the order of the rows of `x`.
        summary: What was read; print it.
        preprocessing: Computes the same features for a later table.
        source: Where graph and split come from, as a run's record has it: `files`, `files_sha256`
            and `options`, or `dataset`; empty for frames and graphs of other libraries.
    """

    data: Data
    ids: tuple[Any, ...]
    summary: Summary
    preprocessing: Preprocessing
    source: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def sha256(self) -> str:
        """The fingerprint of the graph, computed once."""
        return graph_sha256(self.data)

    def __repr__(self) -> str:
        """Its sizes, on one line; the summary has more."""
        sizes = self.summary
        return (
            f"GraphTable(nodes={sizes.nodes}, edges={sizes.edges}, features={sizes.num_features}, "
            f"classes={len(sizes.labels)})"
        )


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a graph, in plain arrays."""

    ids: tuple[Any, ...]
    features: Any
    edges: Edges
    labels: Labels
    preprocessing: Preprocessing
    split: Split | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def assemble(parts: Parts, sparse: bool | None = None) -> GraphTable:
    """The graph of some parts.

    Raises:
        GraphError: It has no edges, no features, or features that are not finite.
    """
    from torch_geometric.data import Data  # takes seconds, so only when a graph is wanted

    data = Data(
        x=to_tensor(parts.features, sparse),
        edge_index=torch.from_numpy(parts.edges.index),
        y=torch.from_numpy(parts.labels.y),
        class_names=list(parts.labels.class_names),
        feature_names=list(parts.preprocessing.feature_names),
    )
    check_graph(data.x, data.edge_index)
    if parts.edges.weight is not None:
        data.edge_weight = torch.from_numpy(parts.edges.weight)
    if parts.split is not None:
        parts.split.apply(data)
    return GraphTable(data, parts.ids, summarize(parts), parts.preprocessing)


def summarize(parts: Parts) -> Summary:
    """The summary of a graph."""
    y, edges = parts.labels.y, parts.edges
    return Summary(
        nodes=len(y),
        edges=edges.count,
        directed=parts.preprocessing.directed,
        isolated=int((edges.degrees == 0).sum()),
        dropped=edges.dropped,
        labels=parts.labels.counts(),
        unlabeled=int((y < 0).sum()),
        features=features_by_kind(parts.preprocessing),
        left_out=parts.left_out,
        split=None if parts.split is None else {name: len(nodes) for name, nodes in parts.split},
        notes=(*parts.notes, *weight_notes(edges)),
        warnings=parts.warnings,
    )


def features_by_kind(preprocessing: Preprocessing) -> Mapping[str, tuple[Sequence[str], int]]:
    """For each kind of encoder the columns it reads and how many features it makes."""
    columns: dict[str, list[str]] = defaultdict(list)
    features: Counter[str] = Counter()
    for encoder in preprocessing.encoders:
        columns[encoder.kind] += encoder.columns
        features[encoder.kind] += len(encoder.names)
    return {kind: (names, features[kind]) for kind, names in columns.items()}
