"""`in_channels=-1` as in PyG's lazy Linear, the reference here."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import copy, deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.parameter import UninitializedParameter, is_lazy
from torch_geometric.nn import Linear

from nodewise.errors import InputError
from nodewise.models.classifier import LGAT, LGCN, LGIN
from nodewise.models.zoo import ZOO, Row, build_model
from nodewise.nn.film_conv import FilmConv
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.nn.options import Inits
from tests.graphs import SIX_EDGES

MAKERS: dict[str, Callable[[int], Any]] = {
    "gcn": lambda width: LocalizedConv(width, 4),
    "bottleneck": lambda width: LocalizedConv(width, 4, "gat", heads=2, bottleneck=3),
    "gatv2": lambda width: LocalizedConv(width, 4, "gatv2"),
    "FilmConv": lambda width: FilmConv(width, 4),
    "LGCN": lambda width: LGCN(width, 4, 3, dropout=0.0),
    "LGAT": lambda width: LGAT(width, 4, 3, heads=2, dropout=0.0),
    "LGIN": lambda width: LGIN(width, 4, 3, dropout=0.0),
    **{
        name: lambda width, name=name: build_model(name, width, 3)  # type: ignore[misc]
        for name, row in ZOO.items()
        if isinstance(row, Row)
    },
}


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(0)
    return torch.randn(5, 6)


def shapes(module: torch.nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(weight.shape) for name, weight in module.named_parameters()}


@pytest.mark.parametrize("name", MAKERS)
def test_the_first_input_decides_the_shapes(name: str, x: Tensor) -> None:
    lazy, eager = MAKERS[name](-1), MAKERS[name](6)
    waiting = [weight for weight in lazy.parameters() if is_lazy(weight)]
    assert waiting and all(isinstance(weight, UninitializedParameter) for weight in waiting)
    assert list(dict(lazy.named_parameters())) == list(shapes(eager))
    out = lazy(x, SIX_EDGES)
    assert shapes(lazy) == shapes(eager) and repr(lazy) == repr(eager)
    assert all(type(weight) is torch.nn.Parameter for weight in lazy.parameters())
    assert all(weight.isfinite().all() for weight in lazy.parameters())
    out.sum().backward()


@pytest.mark.parametrize("name", MAKERS)
def test_a_lazy_layer_computes_what_an_eager_one_does(name: str, x: Tensor) -> None:
    eager = MAKERS[name](6).double().eval()
    lazy = MAKERS[name](-1).eval()
    lazy.load_state_dict(eager.state_dict())
    assert shapes(lazy) == shapes(eager) and repr(lazy) == repr(eager)
    torch.testing.assert_close(lazy.double()(x.double(), SIX_EDGES), eager(x.double(), SIX_EDGES))


def test_a_weight_that_waited_is_filled_by_its_initializer(x: Tensor) -> None:
    small = Inits(weight="small_uniform", modulator="small_uniform")
    conv = LocalizedConv(-1, 4, bottleneck=2, inits=small)
    conv(x, SIX_EDGES)
    for weight in conv.parameters():
        assert 0 < weight.abs().max() <= 0.01


def test_sparse_rows_have_a_width_too(x: Tensor) -> None:
    conv = LocalizedConv(-1, 4)
    conv(x.relu().to_sparse_csr(), SIX_EDGES)
    assert conv.in_channels == 6 and conv.weight.shape == (1, 4, 6)


@pytest.mark.parametrize("given", [(-1, -1), (6, -1), (-1, 3), -1])
def test_both_ends_of_a_pair_may_wait(given: int | tuple[int, int], x: Tensor) -> None:
    pair = (x, torch.randn(4, 3))
    edges = torch.tensor([[0, 4, 2], [1, 0, 3]])
    for conv, aggregator in ((LocalizedConv, "gatv2"), (FilmConv, "sum")):
        lazy, eager = conv(given, 4, aggregator), conv((6, 3), 4, aggregator)
        lazy(pair, edges)
        assert lazy.in_channels == (6, 3)
        assert shapes(lazy) == shapes(eager)


def revived(conv: LocalizedConv) -> Any:
    return pickle.loads(pickle.dumps(conv))


@pytest.mark.parametrize("duplicate", [copy, deepcopy, revived])
def test_copies_of_a_lazy_layer_are_lazy(duplicate: Callable[[Any], Any], x: Tensor) -> None:
    conv = LocalizedConv(-1, 4, "gatv2", bottleneck=2)
    again = duplicate(conv)
    again.reset_parameters()
    assert is_lazy(again.weight) and is_lazy(again.aggregator.target_weight)
    assert again(x, SIX_EDGES).shape == (5, 4)
    assert duplicate is copy or is_lazy(conv.weight)


def test_a_lazy_layer_may_change_its_precision(x: Tensor) -> None:
    conv = LocalizedConv(-1, 4).double()
    assert conv(x.double(), SIX_EDGES).dtype == torch.float64
    assert {weight.dtype for weight in conv.parameters()} == {torch.float64}


def test_state_dicts_are_those_of_a_lazy_linear(x: Tensor) -> None:
    reference, conv = Linear(-1, 4), LocalizedConv(-1, 4)
    for layer, other in ((reference, Linear(-1, 4)), (conv, LocalizedConv(-1, 4))):
        state = layer.state_dict()
        assert isinstance(state["weight"], UninitializedParameter)
        other.load_state_dict(state)
        assert is_lazy(other.weight)
        with pytest.raises(RuntimeError, match="in state_dict"):
            layer.load_state_dict({})
        layer.load_state_dict({}, strict=False)
        assert is_lazy(layer.weight)
    loaded = [Linear(-1, 4), LocalizedConv(-1, 4)]
    for layer, full in zip(loaded, (Linear(6, 4), LocalizedConv(6, 4)), strict=True):
        layer.load_state_dict(full.state_dict())
        assert layer.in_channels == 6
        assert torch.equal(layer.weight, full.weight)


def test_what_was_loaded_or_set_before_the_first_input_stays(x: Tensor) -> None:
    conv = LocalizedConv(-1, 4, "gat", bias=True)
    weight = torch.randn(1, 4, 6)
    conv.load_state_dict({"weight": weight}, strict=False)
    attention = conv.aggregator.attention.source.detach().clone()
    conv(x, SIX_EDGES)
    assert torch.equal(conv.weight, weight)
    assert torch.equal(conv.aggregator.attention.source, attention)


def test_the_second_input_has_the_width_of_the_first(x: Tensor) -> None:
    conv = LocalizedConv(-1, 4)
    conv(x, SIX_EDGES)
    with pytest.raises(InputError, match="x: must have the shape"):
        conv(x[:, :3], SIX_EDGES)


def test_reset_leaves_a_lazy_weight_waiting_and_starts_the_others(x: Tensor) -> None:
    conv = LocalizedConv(-1, 4, "gat")
    before = conv.aggregator.attention.source.detach().clone()
    conv.reset_parameters()
    assert is_lazy(conv.weight)
    assert not torch.equal(conv.aggregator.attention.source, before)


@pytest.mark.parametrize("name", ["DeepWalk", "Planetoid"])
def test_models_of_one_graph_do_not_wait(name: str) -> None:
    with pytest.raises(InputError, match=r"in_channels: .* the first input"):
        build_model(name, -1, 3, num_nodes=5)
