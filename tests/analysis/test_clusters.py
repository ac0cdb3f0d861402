from __future__ import annotations

import numpy as np
import torch

from nodewise.analysis.clusters import find_clusters
from nodewise.analysis.layer_view import LayerView
from nodewise.analysis.local_weights import LocalWeights
from nodewise.analysis.view import View
from nodewise.nn.context import MeanContext
from nodewise.ops.sparse import SparseRows
from tests.analysis.subjects import random_view
from tests.training.tasks import small_graph


def two_groups() -> View:
    """Two components whose nodes have other features: their contexts, and weights, are two."""
    data = small_graph()
    group = torch.arange(60) % 2
    data.x = torch.eye(7)[group * 3] + 0.01 * data.x
    data.edge_index = data.edge_index[:, group[data.edge_index[0]] == group[data.edge_index[1]]]
    data.feature_names = list("abcdefg")
    return random_view(data=data)


def test_two_groups_are_found_and_named_by_their_features() -> None:
    view = two_groups()
    found = view.clusters
    assert found is not None and found.silhouette > 0.5
    assert len(found.clusters) == 2
    for number, cluster in enumerate(found.clusters):
        nodes = np.flatnonzero(found.of_node == number)
        assert cluster.nodes == len(nodes) == 30 and len(set(nodes % 2)) == 1
        assert cluster.features[0][0] == ("a", "d")[nodes[0] % 2]
        assert set(cluster.examples) <= set(nodes.tolist())
        assert sum(cluster.classes.values()) == 1


def test_scores_are_means_over_contexts_in_deviations_of_the_feature() -> None:
    view = two_groups()
    found, opened = view.clusters, LayerView(view.subject)
    assert found is not None
    x = view.subject.x
    assert not isinstance(x, SparseRows)
    means = MeanContext()(x, opened.blocks[0])
    nodes = torch.from_numpy(np.flatnonzero(found.of_node == 0))
    expected = (means[nodes].mean(0) - means.mean(0)) / x.std(0, correction=0)
    scores = dict(found.clusters[0].features)
    for name, score in scores.items():
        assert np.isclose(score, float(expected["abcdefg".index(name)]))


def test_sparse_features_give_the_same_scores() -> None:
    dense, sparse = two_groups(), two_groups()
    object.__setattr__(sparse.subject, "x", SparseRows.from_dense(dense.subject.x))
    ours, theirs = dense.clusters, sparse.clusters
    assert ours is not None and theirs is not None
    for one, other in zip(ours.clusters, theirs.clusters, strict=True):
        assert [name for name, _ in one.features] == [name for name, _ in other.features]
        np.testing.assert_allclose(*([score for _, score in c.features] for c in (one, other)))


def test_equal_local_models_are_no_groups() -> None:
    view = random_view("LSAGE", modulator_init="zeros")
    for name, weight in view.subject.model.named_parameters():
        if "expand" in name:
            weight.data.zero_()
    local = LocalWeights.of(view.subject)
    assert find_clusters(LayerView(view.subject), local, view.predictions.classes()) is None
