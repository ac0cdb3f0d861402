from __future__ import annotations

import json

import pytest
import torch

from nodewise.analysis.explain import computation_graph
from nodewise.models.zoo import ZOO, Row
from nodewise.ops.sparse import as_features, take_rows
from tests.analysis.subjects import random_view
from tests.training.tasks import small_graph


@pytest.mark.parametrize("name", ["LGCN", "LGAT", "LSAGE"])
def test_a_neighborhood_has_the_logits_of_the_graph(name: str) -> None:
    data = small_graph()
    data.edge_index = data.edge_index[:, :60]
    subject = random_view(name, data).subject
    full, sizes = subject.model(subject.x, subject.edge_index), []
    for node in range(60):
        part = computation_graph(subject, node)
        x = take_rows(as_features(subject.x), part.nodes)
        torch.testing.assert_close(subject.model(x, part.edge_index)[part.row], full[node])
        assert torch.equal(part.nodes[part.edge_index], subject.edge_index[:, part.edge])
        sizes.append(len(part.nodes))
    assert min(sizes) < 60


@pytest.mark.medium
@pytest.mark.parametrize("name", [name for name, row in ZOO.items() if isinstance(row, Row)])
def test_every_model_with_layers_is_explained(name: str) -> None:
    found = random_view(name).explain(5, epochs=2)
    assert found.features and bool(found.edges) == (name != "MLP")
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("name", ["LGCN", "LGAT", "GAT-FiLM", "LSAGE"])
def test_masks_have_names_and_leave_the_model_alone(name: str) -> None:
    view = random_view(name)
    before = view.subject.model(view.subject.x, view.subject.edge_index)
    found = view.explain(5, epochs=3)
    assert found.algorithm == "GNNExplainer"
    assert {name for name, _ in found.features} <= set(view.subject.feature_names)
    given = set(map(tuple, view.subject.edge_index.T.tolist()))
    assert found.edges and {ends for ends, _ in found.edges} <= given
    values = [value for _, value in found.edges]
    assert values == sorted(values, reverse=True)
    torch.testing.assert_close(view.subject.model(view.subject.x, view.subject.edge_index), before)
    assert not any("mask" in name for name, _ in view.subject.model.named_parameters())
    assert found.to_dict()["edges"][0].keys() == {"source", "target", "importance"}


def test_a_model_without_a_graph_has_masks_of_features_only() -> None:
    found = random_view("MLP").explain(5, epochs=3)
    assert found.features and not found.edges


def test_masks_are_the_same_each_time() -> None:
    view = random_view()
    assert view.explain(5, epochs=3) == view.explain(5, epochs=3)
