from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from nodewise.bound_graph import BoundGraph
from nodewise.errors import InputError, SplitError
from tests.training.tasks import small_graph


@pytest.fixture
def graph() -> Data:
    return small_graph()


def test_only_the_given_nodes_have_labels(graph: Data) -> None:
    X, y = np.arange(40, 10, -1), np.array(["b", "a", "c"])[np.arange(30) % 3]
    data, split, classes = BoundGraph(graph).training_graph(X, y, None)
    assert classes.tolist() == data.class_names == ["a", "b", "c"]
    assert data.y[torch.from_numpy(X)].tolist() == np.unique(y, return_inverse=True)[1].tolist()
    assert int((data.y >= 0).sum()) == 30
    assert sorted([*split.train, *split.val]) == sorted(X) and len(split.test) == 0
    assert np.bincount(data.y.numpy()[split.val]).tolist() == [2, 2, 2]
    assert data.edge_index is graph.edge_index and graph.y.min() == 0


def test_order_does_not_decide_which_nodes_are_held_out(graph: Data) -> None:
    one = BoundGraph(graph).training_graph(np.arange(30), None, None)[1]
    other = BoundGraph(graph).training_graph(np.arange(30)[::-1], None, None)[1]
    assert one == other


def test_labels_are_those_of_the_graph_unless_given(graph: Data) -> None:
    bound = BoundGraph(graph)
    assert bound.labels(np.array([4, 2])).tolist() == [1, 2]
    graph.class_names = ["ant", "bee", "cat"]
    assert bound.labels(np.array([4, 2])).tolist() == ["bee", "cat"]
    assert bound.training_graph([0, 1, 3, 4], None, None)[2].tolist() == ["ant", "bee"]
    graph.y[4] = -1
    with pytest.raises(InputError, match=r"X\[1\]: contains a node that has no label \(found 4\)"):
        bound.labels(np.array([2, 4]))
    del graph.y
    assert bound.training_graph([0, 1, 3, 4], [7, 9, 7, 9], None)[2].tolist() == [7, 9]


def test_a_node_may_be_repeated_with_one_label(graph: Data) -> None:
    bound = BoundGraph(graph)
    _, split, _ = bound.training_graph([3, 3, 5, 7, 9], [0, 0, 1, 0, 1], None)
    assert len(split.train) + len(split.val) == 4
    with pytest.raises(InputError, match="two labels for node 3"):
        bound.training_graph([3, 3, 5], [0, 1, 1], None)


def test_validation_nodes_are_a_part_of_x(graph: Data) -> None:
    bound = BoundGraph(graph)
    split = bound.training_graph([1, 2, 3, 4], None, [2, 4])[1]
    assert (split.train.tolist(), split.val.tolist()) == ([1, 3], [2, 4])
    for val in ([5], [1, 2, 3, 4], []):
        with pytest.raises(SplitError, match="val_index: must be a part of X"):
            bound.training_graph([1, 2, 3, 4], None, val)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([0.5, 1], None, r"X\[0\]: must hold whole numbers \(found 0.5\)"),
        ([0, 60], None, r"X\[1\]: must be at least 0 and below 60 \(found 60\)"),
        ([[0, 1], [2, 3]], None, "X: must have shape"),
        ([0, np.nan], None, "NaN"),
        ([], None, "minimum of 1"),
        ([0, 1], [0], "inconsistent numbers of samples"),
        ([0, 1], [0.1, 0.2], "Unknown label type"),
        ([0, 1], [0, 1], "no class has two nodes"),
    ],
)
def test_what_cannot_be_used_is_refused(graph: Data, X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BoundGraph(graph).training_graph(X, y, None)
