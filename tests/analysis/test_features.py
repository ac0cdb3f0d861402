from __future__ import annotations

import pytest
import torch

from nodewise.analysis.features import Feature, class_direction, evidence, features_of
from nodewise.analysis.layer_view import LayerView
from nodewise.analysis.local_weights import LocalWeights
from nodewise.ops import reference
from tests.analysis.subjects import random_view
from tests.training.tasks import small_graph


def test_with_one_layer_evidence_is_the_centered_row_of_the_matrix() -> None:
    view = random_view(num_layers=1)
    opened, local = LayerView(view.subject), LocalWeights.of(view.subject)
    assert local is not None
    before, after = evidence(opened, local, 5, 2)
    scale, shift = local.modulation.scale[5:6], local.modulation.shift[5:6]
    for found, weight in (
        (before, local.weight[0]),
        (after, reference.localized_weight(local.weight, scale, shift)[0, 0]),
    ):
        torch.testing.assert_close(found, (weight[2] - weight.mean(0)).detach())


def test_local_evidence_is_that_of_the_matrix_of_the_node() -> None:
    view = random_view("LGAT")
    opened, local = LayerView(view.subject), LocalWeights.of(view.subject)
    assert local is not None
    direction = class_direction(opened, 5, 2).view(8, 8)
    scale, shift = local.modulation.scale[5:6], local.modulation.shift[5:6]
    own = reference.localized_weight(local.weight, scale, shift)[0]
    expected = torch.einsum("ho,hoi->i", direction, own).detach()
    torch.testing.assert_close(evidence(opened, local, 5, 2)[1], expected)


def test_the_direction_is_the_gradient_of_a_bias_of_the_first_layer() -> None:
    view = random_view("LGAT", bias=True)
    model, subject = view.subject.layered, view.subject
    logits = model(subject.x, subject.edge_index)[5]
    bias = model.layers[0].bias
    assert bias is not None
    (expected,) = torch.autograd.grad(logits[1] - logits.mean(), bias)
    torch.testing.assert_close(class_direction(LayerView(subject), 5, 1), expected)


def test_between_linear_ends_evidence_goes_through_the_front() -> None:
    view = random_view("LSAGE")
    model = view.subject.layered
    assert model.ends is not None
    opened, local = LayerView(view.subject), LocalWeights.of(view.subject)
    direction = class_direction(opened, 5, 0)
    expected = direction @ model.layers[0].weight[0] @ model.ends.front.linear.weight
    torch.testing.assert_close(evidence(opened, local, 5, 0)[0], expected.detach())


@pytest.mark.parametrize("name", ["GCN", "LGCN:edge", "GAT-FiLM", "MLP"])
def test_without_a_node_level_nothing_changes(name: str) -> None:
    view = random_view(name)
    features = features_of(LayerView(view.subject), None, 5, 1)
    assert {each.change for each in features} == {"same"}
    assert all(each.effect == 0 for each in features)


def test_only_features_of_the_context_are_listed_with_their_mean() -> None:
    data = small_graph()
    data.x[:, 3] = 0
    data.x[8, 3] = 2.0
    data.edge_index = torch.tensor([[8, 1, 2], [5, 5, 6]])
    data.feature_names = list("abcdefg")
    opened = LayerView(random_view(data=data).subject)
    near = {each.name: each for each in features_of(opened, None, 5, 1)}
    assert near["d"].members == 1 and near["d"].value == pytest.approx(2 / 3)  # 8, 1 and 5 itself
    assert "d" not in {each.name for each in features_of(opened, None, 6, 1)}


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [(1, 2, "up"), (-1, -2, "up"), (2, 1, "down"), (1, -3, "flipped"), (1, 1, "same")],
)
def test_changes_have_names(before: float, after: float, change: str) -> None:
    assert Feature("a", before, after, 0.5, 1).change == change
    assert Feature("a", before, after, 0.5, 1).effect == (after - before) / 2
