from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import nodewise
from nodewise.analysis.local_weights import LocalWeights
from nodewise.analysis.view import View, analyze
from nodewise.data.graph import GraphTable
from nodewise.data.read_graph import from_pandas
from nodewise.errors import GraphError, InputError
from nodewise.estimator import NodeClassifier
from nodewise.models.zoo import ZOO, Row, build_model
from nodewise.nn.localize import localize
from nodewise.runs.run import train_in
from nodewise.runs.saved import load_run
from tests.analysis.subjects import random_view
from tests.training.tasks import OFFICIAL_SMALL, small_graph, small_task

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


def test_corrected_and_spoiled_are_the_difference_of_two_accuracies() -> None:
    data = small_graph()
    data.y[:6] = -1
    view = random_view(data=data)
    y = data.y.numpy()
    after, before = (view.probabilities(on).argmax(1) == y for on in (None, ()))
    corrected, spoiled = view.corrected(), view.spoiled()
    assert corrected["id"].tolist() == np.flatnonzero(after & ~before & (y >= 0)).tolist()
    assert spoiled["id"].tolist() == np.flatnonzero(before & ~after & (y >= 0)).tolist()
    assert len(corrected) and len(spoiled)
    assert view.graph.corrected["id"].tolist() == corrected["id"].tolist()
    assert view.graph.spoiled["id"].tolist() == spoiled["id"].tolist()
    counts = view.graph.counts["labeled"]
    assert (counts.nodes, counts.corrected, counts.spoiled) == (54, len(corrected), len(spoiled))
    gain = counts.corrected - counts.spoiled
    assert counts.accuracy - counts.accuracy_without == pytest.approx(gain / 54)
    assert view.to_frame()["correct"].isna().sum() == 6


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


def test_a_run_its_folder_its_classifier_and_its_model_have_the_same_view(tmp_path: Path) -> None:
    task = small_task()
    train_in(tmp_path, task, 0)
    run, data = load_run(tmp_path), task.data
    expected = run.predict_proba(data)
    for given in (run, tmp_path, str(tmp_path), NodeClassifier.load(tmp_path)):
        found = analyze(given, data).probabilities()
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert set(analyze(run, data).to_frame()["part"]) == {""}  # another split than any known
    task.split.apply(data)
    assert set(analyze(run, data).to_frame()["part"]) == {"train", "val", "test"}


def test_a_fitted_classifier_has_a_view() -> None:
    data = small_graph()
    data.train_mask, data.test_mask = torch.arange(60) < 40, torch.arange(60) >= 50
    data.val_mask = torch.zeros(60, dtype=torch.bool)
    classifier = NodeClassifier("LGCN", "official", 0, settings=OFFICIAL_SMALL).fit(data)
    view = nodewise.analyze(classifier, data)
    assert view.to_frame()["prediction"].tolist() == classifier.predict(data).astype(str).tolist()
    assert set(view.to_frame()["part"]) == {"train", "val", "test", ""}


def test_nodes_are_found_by_their_ids_and_unknown_ones_name_the_nearest() -> None:
    nodes = pd.DataFrame(
        {"id": ["p1", "p17", "q2", "q3"], "size": [1.0, 2, 3, 1], "topic": list("xyxy")}
    )
    edges = pd.DataFrame({"source": ["p1", "p17"], "target": ["p17", "q2"]})
    table: GraphTable = from_pandas(nodes, edges, label="topic")
    torch.manual_seed(0)
    view = View(build_model("LGCN", table.data.x.size(1), 2), table)
    assert view.node("p17").id == "p17" and view.node("p17").label == "y"
    with pytest.raises(InputError, match=r"nearest are p1"):
        view.node("p18")


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
    with pytest.raises(InputError, match="no stack of layers"):
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


def test_what_cannot_be_analyzed_says_why(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither a run"):
        analyze(7, small_graph())  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"nodewise.analyze\(model, data\)"):
        analyze(build_model("LGCN", 7, 3))
    train_in(tmp_path, small_task(), 0)
    data = small_graph()
    data.x = data.x[:, :5]
    with pytest.raises(GraphError, match="trained on 7 features"):
        analyze(tmp_path, data)


def test_the_sentence_says_what_was_found() -> None:
    view = random_view()
    node = view.node(5)
    sentence = node.sentence
    assert sentence.startswith(f"5 is predicted {node.prediction} (probability ")
    assert f"number {node.distance_rank} of 60" in sentence
    assert node.features[0].name in sentence
    assert "The model has no localization to switch off" in random_view("GCN").node(5).sentence


def test_a_node_has_tables_of_pandas() -> None:
    node = random_view().node(5)
    frames = node.to_frames()
    assert frames["features"]["name"].tolist() == [each.name for each in node.features]
    assert frames["neighbors"]["strength"].tolist() == [each.strength for each in node.neighbors]
    assert frames["similar"]["id"].tolist() == [each.id for each in node.similar]


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
