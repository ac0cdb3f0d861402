"""Arguments of PyG's convs work here or are refused by name: none is ignored."""

from __future__ import annotations

from functools import partial
from inspect import signature
from typing import Any

import pytest
import torch
from torch_geometric import nn as pyg
from torch_geometric.nn.conv import MessagePassing

from nodewise.errors import InputError
from nodewise.models.classifier import LGCN
from nodewise.nn.film_conv import FilmConv
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.nn.pyg_arguments import check_arguments

CONVS = (
    pyg.GCNConv,
    pyg.SAGEConv,
    pyg.GraphConv,
    pyg.GATConv,
    pyg.GATv2Conv,
    pyg.GINConv,
    pyg.FiLMConv,
    MessagePassing,
)
OURS = {*signature(LocalizedConv.__init__).parameters}
THEIRS = sorted({name for conv in CONVS for name in signature(conv.__init__).parameters} - OURS)


@pytest.mark.parametrize("name", THEIRS)
def test_every_argument_of_pygs_convs_is_known(name: str) -> None:
    with pytest.raises(InputError, match=rf"LocalizedConv\.{name}: is not an argument here"):
        LocalizedConv(5, 4, **{name: "something else"})


@pytest.mark.parametrize(
    ("given", "way_out"),
    [
        ({"flow": "target_to_source"}, r"edge_index.flip\(0\)"),
        ({"node_dim": 1}, "the first of two axes"),
        ({"aggr": "mean"}, "say aggregator="),
        ({"aggr_kwargs": {"t": 0.1}}, "SoftmaxAggregation"),
        ({"decomposed_layers": 2}, "leave it at 1"),
        ({"add_self_loops": False}, "BlockRule"),
        ({"normalize": False}, "BlockRule"),
        ({"cached": True}, "leave it out"),
        ({"improved": True}, "self_weight=2.0"),
        ({"dropout": 0.5}, "DropRates"),
        ({"fill_value": torch.ones(3)}, "edge features"),
        ({"weight_dropout": 0.5}, r"drop_rates=DropRates\(weight="),
        ({"context": "mean"}, r"localization=LocalizationOptions\(context="),
    ],
)
def test_the_error_names_the_way(given: dict[str, Any], way_out: str) -> None:
    for make in (LocalizedConv, FilmConv):
        with pytest.raises(InputError, match=way_out):
            make(5, 4, **given)
    with pytest.raises(InputError, match=way_out):
        check_arguments("LGCN", given)


def test_what_a_layer_does_in_any_case_may_be_asked_for() -> None:
    options = {"flow": "source_to_target", "node_dim": -2, "decomposed_layers": 1, "cached": False}
    x, edges = torch.rand(3, 5), torch.tensor([[0, 1], [1, 2]])
    for model in (partial(LocalizedConv, 5, 4), partial(LGCN, 5, 4, 3)):
        outputs = []
        for given in (options, {}):
            torch.manual_seed(0)
            outputs.append(model(**given).eval()(x, edges))
        torch.testing.assert_close(*outputs)


def test_an_unknown_argument_is_a_type_error_as_everywhere() -> None:
    with pytest.raises(TypeError, match=r"LocalizedConv\(\) got an unexpected .*'bottelneck'"):
        LocalizedConv(5, 4, bottelneck=3)


def test_there_are_fewer_arguments_than_there_were() -> None:
    assert len(OURS - {"self", "kwargs"}) <= 13
