from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import relu
from torch_geometric.nn import FiLMConv

from nodewise.models.classifier import Classifier, film_convs, layer_sizes
from nodewise.nn.aggregators import WeightedSum
from nodewise.nn.block import BlockRule
from nodewise.nn.film_conv import FilmConv
from nodewise.nn.options import DropRates, Inits, MessageOptions
from nodewise.testing import (
    assert_field_equals_full_graph,
    assert_kernels_agree,
    assert_renumbering_renumbers,
)
from tests.graphs import NINE_EDGES
from tests.nn.sparse_features import assert_sparse_rows_give_what_dense_ones_give

FORMS = {
    "gcn": {"aggregator": "gcn"},
    "gat": {"aggregator": "gat", "heads": 3},
    "gin": {"aggregator": "gin", "bias": True},
    "everything": {
        "aggregator": "gat",
        "heads": 2,
        "concat": False,
        "bias": True,
        "message": MessageOptions(bias=True, act=torch.tanh),
    },
}


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(0)
    return torch.randn(6, 5, dtype=torch.float64)


def conv_of(form: str, **options: object) -> FilmConv:
    torch.manual_seed(1)
    return FilmConv(
        5, 4, **{**FORMS[form], "inits": Inits(bias="small_uniform"), **options}
    ).double()


@pytest.mark.parametrize("message_bias", [False, True])
@pytest.mark.parametrize("form", ["gcn", "gat", "gin"])
def test_films_act_on_the_sum_as_on_every_message(x: Tensor, form: str, message_bias: bool) -> None:
    """An activation that changes nothing keeps the messages apart; without one they are summed."""
    summed = conv_of(form, message=MessageOptions(message_bias))
    each = conv_of(form, message=MessageOptions(message_bias, lambda z: z))
    results = []
    for conv in (summed, each):
        out = conv(x, NINE_EDGES)
        learned = [weight for weight in conv.parameters() if weight.requires_grad]
        results.append([out, *torch.autograd.grad(out.sin().sum(), learned)])
    for ours, truth in zip(*results, strict=True):
        torch.testing.assert_close(ours, truth, rtol=1e-12, atol=1e-12)


def pyg_twin(conv: FilmConv, aggr: str, **options: object) -> FiLMConv:
    """PyG's layer with our weights, and nothing for the node itself."""
    twin = FiLMConv(conv.in_channels, conv.out_channels, aggr=aggr, **options).double()
    twin.lins[0].weight.data = conv.weight.data[0]
    twin.films[0].weight.data = torch.cat([conv.to_shift.data[0], conv.to_scale.data[0]])
    starts = torch.tensor([0.0, conv.scale_start], dtype=torch.float64)
    twin.films[0].bias.data = starts.repeat_interleave(conv.out_channels)
    twin.lin_skip.weight.data.zero_()
    twin.film_skip.weight.data.zero_()
    return twin


@pytest.mark.parametrize(("aggr", "normalization"), [("add", "none"), ("mean", "mean")])
@pytest.mark.parametrize("act", [None, relu])
@pytest.mark.parametrize("start", [0.0, 1.0])
def test_is_pygs_film_conv_where_both_say_the_same(
    aggr: str, normalization: str, act: object, start: float, x: Tensor
) -> None:
    aggregator = WeightedSum(BlockRule("none", normalization))
    conv = conv_of("gcn", aggregator=aggregator, message=MessageOptions(act=act), scale_start=start)
    torch.testing.assert_close(conv(x, NINE_EDGES), pyg_twin(conv, aggr, act=act)(x, NINE_EDGES))


def test_is_pygs_film_conv_on_a_bipartite_graph(x: Tensor) -> None:
    targets = torch.randn(4, 2, dtype=torch.float64)
    edges = torch.tensor([[0, 5, 2, 3], [1, 0, 1, 3]])
    conv = FilmConv((5, 2), 4, WeightedSum(BlockRule("none"))).double()
    twin = pyg_twin(conv, "add", act=None)
    torch.testing.assert_close(conv((x, targets), edges), twin((x, targets), edges))


# Features 1, 2, 3, edges 0 -> 1 and 2 -> 1, W = 2, gamma_v = 1 + h_v, beta_v = -h_v. Node 1
# receives 3*2*1 - 2 = 4 from node 0, 3*2*3 - 2 = 16 from node 2 and 3*2*2 - 2 = 10 from itself;
# nodes 0 and 2 only from themselves: 2*2*1 - 1 = 3 and 4*2*3 - 3 = 21. Attention scores h_u ln 2
# weigh the three as 2 : 8 : 4.
HAND_WORKED = {
    "gcn": 20 / math.sqrt(3) + 10 / 3,
    "gin": 4 + 16 + 10,
    "gat": (2 * 4 + 8 * 16 + 4 * 10) / 14,
}


@pytest.mark.parametrize(("aggregator", "middle"), HAND_WORKED.items())
def test_three_nodes_worked_by_hand(aggregator: str, middle: float) -> None:
    conv = FilmConv(1, 1, aggregator).double()
    values = {"weight": 2, "to_scale": 1, "to_shift": -1, "aggregator.eps": 0}
    values |= {
        "aggregator.attention.source": math.log(2) / 2,
        "aggregator.attention.target": 0,
    }
    for name, weight in conv.named_parameters():
        weight.data.fill_(values[name])
    x = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
    out = conv(x, torch.tensor([[0, 2], [1, 1]]))
    expected = torch.tensor([[3.0], [middle], [21.0]], dtype=torch.float64)
    torch.testing.assert_close(out, expected)


@pytest.mark.parametrize("form", FORMS)
def test_laws(form: str, x: Tensor) -> None:
    conv = conv_of(form).eval()
    assert_kernels_agree(conv, x, NINE_EDGES)
    assert_renumbering_renumbers(conv, x, NINE_EDGES)


@pytest.mark.parametrize("form", FORMS)
def test_sparse_features_give_what_dense_ones_give(form: str, x: Tensor) -> None:
    assert_sparse_rows_give_what_dense_ones_give(conv_of(form), x, NINE_EDGES)


@pytest.mark.parametrize("aggregator", ["gcn", "gat", "gin"])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_a_stack_on_its_receptive_field_equals_the_full_graph(
    aggregator: str, as_sparse: bool, x: Tensor
) -> None:
    torch.manual_seed(1)
    model = (
        Classifier(film_convs(layer_sizes(5, 4, 3, 2, heads=2), aggregator=aggregator))
        .double()
        .eval()
    )
    features = x.to_sparse_csr() if as_sparse else x
    assert_field_equals_full_graph(model, features, NINE_EDGES, torch.tensor([3, 0]))


@pytest.mark.parametrize("form", FORMS)
def test_every_weight_is_global_and_learns(form: str, x: Tensor) -> None:
    conv = conv_of(form)
    out, modulations = conv(x, NINE_EDGES, return_modulations=True)
    assert len(modulations) == 0
    assert conv.local_parameters() == []
    assert conv.global_parameters() == list(conv.parameters())
    out.square().sum().backward()
    idle = [name for name, weight in conv.named_parameters() if weight.grad is None]
    assert idle == (["aggregator.eps"] if form == "gin" else [])


def test_reset_starts_every_weight_anew() -> None:
    conv = conv_of("everything")
    before = [weight.detach().clone() for weight in conv.parameters()]
    conv.reset_parameters()
    pairs = zip(conv.parameters(), before, strict=True)
    assert not any(torch.equal(weight, old) for weight, old in pairs)


@pytest.mark.parametrize("place", ["weight", "message"])
def test_dropout_places_act_in_training_only(place: str, x: Tensor) -> None:
    conv = conv_of("gcn", drop_rates=DropRates(**{place: 0.5}))
    assert not torch.equal(conv(x, NINE_EDGES), conv(x, NINE_EDGES))
    conv.eval()
    assert torch.equal(conv(x, NINE_EDGES), conv_of("gcn").eval()(x, NINE_EDGES))


def test_repr_says_what_it_is() -> None:
    assert repr(conv_of("gcn")) == (
        "FilmConv(5, 4, aggregator=WeightedSum(set, symmetric), heads=1)"
    )
