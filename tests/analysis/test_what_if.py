from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from nodewise.analysis.view import View, analyze
from nodewise.errors import InputError
from nodewise.ops.sparse import as_features
from nodewise.runs.run import train_in
from nodewise.runs.saved import load_run
from tests.analysis.subjects import random_view
from tests.training.tasks import small_graph, small_task


def graph() -> Data:
    data = small_graph()
    data.edge_index = torch.tensor([[1, 2, 3, 5, 5], [5, 5, 5, 3, 9]])
    data.feature_names = list("abcdefg")
    return data


@pytest.mark.parametrize("name", ["LGCN", "LGAT", "MLP", "DeepWalk"])
def test_a_level_off_is_the_prediction_without_it(name: str) -> None:
    view = random_view(name)
    for levels in ((), ("node",), ("edge",), ("node", "edge")):
        found = view.what_if(4, levels=levels)
        expected = view.probabilities(levels)[4]
        np.testing.assert_allclose(list(found.probabilities_after.values()), expected, rtol=1e-9)
        assert found.changed == (found.before != found.after)


@pytest.mark.parametrize(
    ("dropped", "kept"), [([3], [0, 1, 4]), ([(3, 5)], [0, 1, 3, 4]), ([(5, 9), 1], [1, 2, 3])]
)
def test_dropped_edges_are_those_of_a_graph_without_them(
    dropped: list[object], kept: list[int]
) -> None:
    data = graph()
    edited = data.clone()
    edited.edge_index = data.edge_index[:, kept]
    found = random_view(data=data).what_if(5, drop_edges=dropped)
    expected = random_view(data=edited).probabilities()[5]
    np.testing.assert_allclose(list(found.probabilities_after.values()), expected)


@pytest.mark.parametrize("sparse", [False, True])
def test_zeroed_features_are_normalized_as_in_training(tmp_path: Path, sparse: bool) -> None:
    task = small_task(features="row-sum")
    train_in(tmp_path, task, 0)
    edited = task.data.clone()
    edited.x[4, 2] = 0
    edited.x[int(edited.edge_index[0, edited.edge_index[1] == 4][0]), 0] = 0
    near = int(task.data.edge_index[0, task.data.edge_index[1] == 4][0])
    view = analyze(tmp_path, task.data)
    if sparse:
        object.__setattr__(view.subject, "raw", as_features(task.data.x.to_sparse_csr()))
    found = view.what_if(4, zero_features=["feature_2", (near, "feature_0")])
    expected = load_run(tmp_path).predict_proba(edited)[4]
    np.testing.assert_allclose(list(found.probabilities_after.values()), expected, atol=1e-6)
    assert abs(expected - view.probabilities()[4]).max() > 1e-5


def test_what_is_not_there_is_refused() -> None:
    view: View = random_view(data=graph())
    for change, message in (
        ({"drop_edges": [7]}, "names no edge"),
        ({"drop_edges": [(9, 5)]}, "names no edge"),
        ({"zero_features": ["aa"]}, "the nearest are a"),
        ({"levels": ["nodes"]}, "did you mean 'node'"),
    ):
        with pytest.raises(InputError, match=message):
            view.what_if(5, **change)
