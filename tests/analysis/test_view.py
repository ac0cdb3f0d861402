from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from nodewise.analysis.local_weights import LocalWeights
from nodewise.analysis.view import View
from nodewise.errors import InputError
from nodewise.models.zoo import ZOO, Row, build_model
from nodewise.nn.localize import localize
from tests.analysis.subjects import random_view
from tests.training.tasks import small_graph

KEYS = {"id", "prediction", "without_localization", "features", "neighbors", "distance"}


@pytest.mark.medium
@pytest.mark.parametrize("name", ZOO)
def test_every_model_of_the_zoo_has_a_view(name: str) -> None:
    view = random_view(name)
    frame = view.to_frame()
    assert len(frame) == 60 and frame["confidence"].between(1 / 3, 1).all()
    assert not view.what_if(5, zero_features=["feature_0"]).probabilities_after.keys() ^ {*"012"}
    row = ZOO[name]
    if not isinstance(row, Row):
        for ask in (lambda: view.node(5), lambda: view.graph, view.map):
            with pytest.raises(InputError, match="only its predictions"):
                ask()
        return
    assert view.levels == tuple(
        level for level in ("node", "edge") if getattr(row, f"{level}_level")
    )
    found = json.loads(json.dumps(view.node(5).to_dict(), allow_nan=False))
    assert found.keys() >= KEYS | {"distance_rank", "similar", "sentence", "correct"}
    assert found["prediction"] == frame["prediction"][5] and len(found["features"]) == 7
    assert (found["distance"] is None) == (not row.node_level)
    frames = view.node(5).to_frames()
    assert frames["features"]["name"].tolist() == [each["name"] for each in found["features"]]
    json.dumps(view.graph.to_dict(), allow_nan=False)
    assert view.map().notna().all(axis=None)
    if not row.is_localized:
        assert set(found["without_localization"].values()) == {found["prediction"]}
        assert view.corrected().empty and view.spoiled().empty


def test_renumbering_the_nodes_renumbers_the_analysis() -> None:
    data, order = small_graph(), torch.randperm(60, generator=torch.Generator().manual_seed(1))
    place = order.argsort()
    other = data.clone()
    other.x, other.y, other.edge_index = data.x[order], data.y[order], place[data.edge_index]
    ours, theirs = (random_view("LGAT", each) for each in (data, other))
    for node in (3, 40):
        one, two = ours.node(node), theirs.node(int(place[node]))
        assert (one.prediction, one.distance_rank) == (two.prediction, two.distance_rank)
        features = [{f.name: f.local_evidence for f in each.features} for each in (one, two)]
        assert features[0] == pytest.approx(features[1])
        strengths = [sorted(n.strength or 0 for n in each.neighbors) for each in (one, two)]
        assert strengths[0] == pytest.approx(strengths[1])
        assert [int(place[each.id]) for each in one.similar] == [each.id for each in two.similar]


def test_a_users_model_of_localized_convs_has_predictions_without_levels() -> None:
    from torch_geometric.nn import GCNConv

    torch.manual_seed(0)
    conv = localize(GCNConv(7, 3))
    for weight in conv.local_parameters():
        torch.nn.init.normal_(weight)
    view = View(conv, small_graph())
    assert view.levels == ("node", "edge")
    assert abs(view.probabilities() - view.probabilities(())).max() > 0.01
    assert view.to_frame()["distance"].isna().all()
    with pytest.raises(InputError, match="not a stack of layers"):
        view.node(0)


def test_edge_weights_and_sparse_features_are_taken() -> None:
    data = small_graph()
    weighted = data.clone()
    weighted.edge_weight = torch.rand(data.num_edges, dtype=torch.float64)
    views = [random_view(data=each) for each in (data, weighted)]
    assert abs(views[0].probabilities() - views[1].probabilities()).max() > 1e-3
    assert views[1].node(5).neighbors and views[1].what_if(5, levels=[]).probabilities_after
    views[1].explain(5, epochs=2)
    torch.manual_seed(0)
    model = build_model("LGCN", 7, 3)
    sparse = data.clone()
    sparse.x = (data.x * (data.x > 1)).to_sparse_csr()
    dense = sparse.clone()
    dense.x = sparse.x.to_dense()
    one, two = (View(model, each).node(5) for each in (sparse, dense))
    assert [each.name for each in one.features] == [each.name for each in two.features]
    assert one.distance == pytest.approx(two.distance, rel=1e-4)


def test_degrees_and_homophily_leave_loops_and_unlabeled_nodes_out() -> None:
    data = small_graph()
    data.edge_index = torch.tensor([[1, 4, 2, 5, 0], [0, 0, 0, 0, 0]])
    data.y = torch.tensor([1, 1, 0, 0, -1, 1] + [0] * 54)
    frame = random_view(data=data).to_frame()
    assert frame["degree"][0] == 4 and frame["homophily"][0] == pytest.approx(2 / 3)
    assert np.isnan(frame["homophily"][7])


def test_the_global_model_is_no_farther_on_the_map_than_it_is() -> None:
    view = random_view("LGCN")
    places = view.map()[["local_x", "local_y"]].to_numpy() - view.global_on_map()
    for node, place in enumerate(places):
        a, b = LocalWeights.of(view.subject).of_node(node)  # type: ignore[union-attr]
        assert np.linalg.norm(place) <= float(torch.stack([a, b]).norm()) + 1e-9


def test_features_of_a_node_are_those_that_are_not_zero() -> None:
    data = small_graph()
    data.x[4] = torch.tensor([0, 1.0, 0, -2.0, 0, 0, 0])
    assert random_view("LGCN", data).features_of(4) == ["feature_1", "feature_3"]
