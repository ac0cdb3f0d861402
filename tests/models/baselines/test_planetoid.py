from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from nodewise.errors import InputError
from nodewise.models.baselines.context_pairs import Pairs
from nodewise.models.baselines.planetoid import Planetoid, PlanetoidI, PlanetoidT
from nodewise.testing import assert_parameter_count

FORMS = [PlanetoidT, PlanetoidI]


def model_of(form: type[Planetoid]) -> Planetoid:
    torch.manual_seed(0)
    return form(6, 3, 8, dimension=4, hidden_channels=5).eval()


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(1)
    return torch.randn(8, 6).relu()


def test_cora_has_the_papers_parameter_count() -> None:
    assert_parameter_count(PlanetoidT(1433, 7, 2708), 345_650)
    assert PlanetoidT(1433, 7, 2708).paper_parameter_count == 345_650


def test_the_inductive_form_has_a_matrix_in_place_of_the_table() -> None:
    model = PlanetoidI(1433, 7, 2708)
    assert_parameter_count(model, 345_650 - 50 * 2708 + 50 * 1433)
    assert model.paper_parameter_count == 345_650


@pytest.mark.parametrize("form", FORMS)
def test_logits_are_one_classifier_on_both_hidden_layers(form: type[Planetoid], x: Tensor) -> None:
    model = model_of(form)
    embedding = model.embedding if isinstance(model, PlanetoidT) else x @ model.to_embedding.t()
    hidden = [model.of_features(x).relu(), model.of_embedding(embedding).relu()]
    expected = model.classifier(torch.cat(hidden, 1))
    torch.testing.assert_close(model(x), expected)
    torch.testing.assert_close(model(x.to_sparse_csr()), expected)


@pytest.mark.parametrize("form", FORMS)
def test_the_class_loss_counts_the_whole_and_either_half(form: type[Planetoid], x: Tensor) -> None:
    model, y, nodes = model_of(form), torch.arange(8) % 3, torch.tensor([6, 1, 3])
    weight = model.classifier.weight.detach().clone()
    expected = torch.zeros(())
    for kept in (slice(0, 10), slice(0, 5), slice(5, 10)):
        model.classifier.weight.data.zero_()[:, kept] = weight[:, kept]
        expected = expected + cross_entropy(model(x)[nodes], y[nodes])
    model.classifier.weight.data.copy_(weight)
    torch.testing.assert_close(model.supervised_loss(x, y, nodes), expected)


def test_the_context_loss_worked_by_hand() -> None:
    model = PlanetoidT(1, 2, 3, dimension=2)
    model.embedding.data = torch.tensor([[1.0, 2.0], [0.0, 1.0], [5.0, 5.0]])
    model.context.data = torch.tensor([[3.0, -1.0], [9.0, 9.0], [0.0, 2.0]])
    # e_0 . w_0 = 1, wanted; e_1 . w_2 = 2, unwanted.
    pairs = Pairs(torch.tensor([0, 1]), torch.tensor([0, 2]), torch.tensor([1.0, -1.0]))
    expected = (math.log(1 + math.exp(-1)) + math.log(1 + math.exp(2))) / 2
    assert model.context_loss(torch.zeros(3, 1), pairs).item() == pytest.approx(expected)


def test_the_inductive_context_loss_goes_through_the_features() -> None:
    model = PlanetoidI(2, 2, 3, dimension=1).eval()
    model.to_embedding.data = torch.tensor([[1.0, -1.0]])
    model.context.data = torch.tensor([[2.0], [9.0], [9.0]])
    x = torch.tensor([[9.0, 0.0], [4.0, 1.0], [0.0, 9.0]])
    pairs = Pairs(torch.tensor([1]), torch.tensor([0]), torch.tensor([1.0]))
    expected = math.log(1 + math.exp(-6))  # e_1 = 4 - 1, w_0 = 2
    assert model.context_loss(x, pairs).item() == pytest.approx(expected)


@pytest.mark.parametrize("form", FORMS)
def test_each_loss_trains_its_parts_and_both_the_embedding(
    form: type[Planetoid], x: Tensor
) -> None:
    model = model_of(form)
    pairs = Pairs(torch.tensor([0]), torch.tensor([1]), torch.tensor([1.0]))
    losses = [
        model.context_loss(x, pairs),
        model.supervised_loss(x, torch.arange(8) % 3, torch.arange(4)),
    ]
    named = dict(model.named_parameters())
    learned = []
    for loss in losses:
        grads = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
        found = zip(named, grads, strict=True)
        learned.append({name for name, grad in found if grad is not None})
    embedding = {name for name, w in named.items() if w is model.embedding_parameters()[0]}
    assert learned[0] == {"context"} | embedding
    assert learned[1] == set(named) - {"context"}


def test_dropout_acts_in_training_only(x: Tensor) -> None:
    for form in FORMS:
        model = model_of(form)
        assert torch.equal(model(x), model(x))
        model.train()
        assert not torch.equal(model(x), model(x))


def test_only_the_inductive_form_takes_new_nodes(x: Tensor) -> None:
    more = torch.cat([x, x])
    torch.testing.assert_close(model_of(PlanetoidI)(more)[8:], model_of(PlanetoidI)(x))
    with pytest.raises(InputError, match="use PlanetoidI"):
        model_of(PlanetoidT)(more)
