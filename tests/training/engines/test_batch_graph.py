from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from nodewise.data.splits.split import Split
from nodewise.data.stores.store import GraphStore
from nodewise.data.stores.writer import StoreWriter
from nodewise.training.engines.base import TrainingGraph
from nodewise.training.engines.batch_graph import MemoryGraph, StoredGraph
from nodewise.training.inputs import prepare

X = torch.tensor([[1.0, 3], [0, 2], [5, 0], [1, 1]])
Y = torch.tensor([0, 1, -1, 0])
EDGES = torch.tensor([[1, 2, 0, 3], [0, 0, 1, 1]])
WEIGHT = torch.tensor([0.5, 1, 2, 4])
SPLIT = Split([0], [1], [3])


def stored(folder: Path) -> GraphStore:
    with StoreWriter(folder, 4, "pq", ("a", "b"), weighted=True) as writer:
        writer.add_nodes(X.numpy(), Y.numpy())
        writer.add_edges([2, 2, 0, 0], [1, 2, 0, 3], WEIGHT.numpy())
        return writer.finish()


def test_a_graph_in_files_gives_what_it_gives_in_memory(tmp_path: Path) -> None:
    ours = StoredGraph(stored(tmp_path), SPLIT, "row-sum")
    theirs = MemoryGraph(TrainingGraph(prepare(X, "row-sum"), EDGES, Y, SPLIT, WEIGHT))
    nodes = np.array([3, 0])
    assert ours.labels(nodes).tolist() == theirs.labels(nodes).tolist() == [0, 0]
    expected = torch.tensor([[0.5, 0.5], [0.25, 0.75]])
    for graph in (ours, theirs):
        rows = graph.take(torch.from_numpy(nodes))
        dense = rows if isinstance(rows, torch.Tensor) else rows.dense()
        torch.testing.assert_close(dense, expected)
        assert graph.csc.colptr.tolist() == [0, 2, 4, 4, 4] and graph.csc.row.tolist() == [
            1,
            2,
            0,
            3,
        ]
        assert graph.csc.edge_weight is not None
        assert graph.csc.edge_weight.tolist() == WEIGHT.tolist()
        assert graph.split is SPLIT and graph.device == torch.device("cpu")
    assert ours.degrees.tolist() == [2, 2, 0, 0] and ours.edge_weight is not None
