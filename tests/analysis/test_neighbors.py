from __future__ import annotations

import pytest
import torch

from nodewise.analysis.layer_view import LayerView
from nodewise.analysis.neighbors import neighbors_of
from nodewise.analysis.view import View
from tests.analysis.subjects import random_view
from tests.training.tasks import small_graph


def test_strengths_are_ratios_of_lengths_in_every_layer() -> None:
    view = random_view("LGAT")
    opened = LayerView(view.subject)
    found = neighbors_of(opened, view.predictions, 7)
    for layer in range(2):
        received = opened.received(layer, 7)
        lengths = [
            part.flatten(1).norm(dim=1) for part in (received.messages, received.unmodulated)
        ]
        expected = sorted((lengths[0] / lengths[1]).tolist())
        assert sorted(each.strengths[layer] or 0 for each in found) == pytest.approx(expected)
    assert [each.strength for each in found] == [each.strengths[-1] for each in found]


def test_members_come_in_the_order_of_change_with_their_classes() -> None:
    data = small_graph()
    data.class_names = ["ant", "bee", "cat"]
    view = random_view(data=data)
    found = neighbors_of(LayerView(view.subject), view.predictions, 7)
    changes = [abs(torch.tensor(each.strength).log().item()) for each in found]
    assert changes == sorted(changes, reverse=True)
    assert 7 in {each.id for each in found}  # GCN's context contains the node
    predicted = view.predictions.classes()
    for each in found:
        assert each.label == data.class_names[int(data.y[each.id])]
        assert each.prediction == data.class_names[predicted[each.id]]


@pytest.mark.parametrize("name", ["GCN", "LGCN:node", "GAT-FiLM", "MLP"])
def test_without_an_edge_level_every_strength_is_one(name: str) -> None:
    view = random_view(name)
    found = neighbors_of(LayerView(view.subject), view.predictions, 7)
    assert {each.strength for each in found} == {1.0}
    changed = any(each.ratio != 1 for each in found)
    assert changed == (name == "LGCN:node")


def test_a_message_that_comes_from_nothing_has_no_strength() -> None:
    data = small_graph()
    data.x[8] = 0
    data.edge_index = torch.tensor([[8], [7]])
    view = random_view(data=data, num_layers=1)
    opened = LayerView(view.subject)
    by_id = {each.id: each for each in neighbors_of(opened, view.predictions, 7)}
    assert by_id[8].strength is None and by_id[7].strength is not None


def test_repeated_edges_and_edge_weights_are_members_as_often_as_they_occur() -> None:
    data = small_graph()
    data.edge_index = torch.tensor([[8, 8, 9], [7, 7, 7]])
    data.edge_weight = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    view: View = random_view("LSAGE", data)
    found = neighbors_of(LayerView(view.subject), view.predictions, 7)
    assert sorted((each.id, round(each.weight, 6)) for each in found) == [
        (8, 0.333333),
        (8, 0.666667),
        (9, 1.0),
    ]
