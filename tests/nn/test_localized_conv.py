from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck
from torch.func import functional_call
from torch.nn import ELU, Linear, Sequential
from torch.nn.functional import elu

from nodewise.errors import InputError, UnknownNameError
from nodewise.nn.aggregators import GinSum, PostProcess
from nodewise.nn.block import BlockRule
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.nn.options import DropRates, Inits, LocalizationOptions, MessageOptions
from nodewise.ops.dispatch import use_kernel
from nodewise.ops.sparse import SparseRows
from nodewise.testing import assert_kernels_agree, assert_renumbering_renumbers
from tests.graphs import NINE_EDGES, edge_lists
from tests.nn.literal import literal_mean_layer
from tests.nn.sparse_features import assert_sparse_rows_give_what_dense_ones_give

ROW_SUM = LocalizationOptions(generator_row_sum=0.3)
TO_ATTENTION = LocalizationOptions(edge_scale_target="attention")
FORMS = {
    "gcn": {"aggregator": "gcn"},
    "gcn, official": {
        "aggregator": "gcn",
        "bottleneck": 3,
        "bias": True,
        "message": MessageOptions(bias=True),
        "drop_rates": DropRates(0.4, 0.4),
        "localization": LocalizationOptions("sum"),
    },
    "mean": {"aggregator": "mean", "bottleneck": 2},
    "gat": {"aggregator": "gat", "heads": 3},
    "gatv2": {"aggregator": "gatv2", "heads": 2},
    "gin": {"aggregator": "gin", "bias": True, "localization": LocalizationOptions(bias=True)},
    "gin with an mlp": {
        "aggregator": lambda out, heads: PostProcess(GinSum(0.3), Sequential(ELU(), Linear(out, 4)))
    },
    "gin, official": {
        "aggregator": "mean",
        "message": MessageOptions(bias=True, act=elu),
        "localization": LocalizationOptions(bias=True),
    },
    "any aggregation": {"aggregator": "max", "localization": LocalizationOptions("softmax")},
    "row sums": {"aggregator": "mean", "bias": True, "localization": replace(ROW_SUM, bias=True)},
    "row sums, heads": {"aggregator": "gat", "heads": 2, "bottleneck": 3, "localization": ROW_SUM},
    "row sums, any aggregation": {
        "aggregator": "max",
        "bottleneck": 2,
        "localization": replace(ROW_SUM, context="softmax"),
    },
    "row sums, node only": {"edge_level": False, "localization": ROW_SUM},
    "node only": {"edge_level": False},
    "edge only": {"node_level": False},
    "pulled to attention": {"aggregator": "mean", "localization": TO_ATTENTION},
    "mean of heads": {"aggregator": "gat", "heads": 2, "concat": False, "bias": True},
}


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(0)
    return torch.randn(6, 5, dtype=torch.float64)


def conv_of(form: str) -> LocalizedConv:
    torch.manual_seed(1)
    return LocalizedConv(5, 4, **FORMS[form]).double().eval()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(edge_lists(), st.sampled_from([None, 2]))
def test_equals_the_layer_of_the_paper(graph: tuple[Tensor, int], bottleneck: int | None) -> None:
    edge_index, nodes = graph
    torch.manual_seed(nodes)
    x = torch.randn(nodes, 5, dtype=torch.float64)
    conv = LocalizedConv(5, 4, "mean", bottleneck=bottleneck).double()
    expected = literal_mean_layer(conv, x, edge_index)
    torch.testing.assert_close(conv(x, edge_index), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_kernels_agree(form: str, x: Tensor) -> None:
    assert_kernels_agree(conv_of(form), x, NINE_EDGES)


@pytest.mark.parametrize("form", FORMS)
def test_sparse_features_give_what_dense_ones_give(form: str, x: Tensor) -> None:
    assert_sparse_rows_give_what_dense_ones_give(conv_of(form), x, NINE_EDGES)


@pytest.mark.parametrize("form", FORMS)
def test_gradcheck_over_features_and_weights(form: str, x: Tensor) -> None:
    conv = conv_of(form)
    names = [name for name, weight in conv.named_parameters() if weight.requires_grad]

    def layer(x: Tensor, *weights: Tensor) -> list[Tensor]:
        arguments = (x, NINE_EDGES, None, True)
        out, modulations = functional_call(conv, dict(zip(names, weights, strict=True)), arguments)
        return [
            out,
            *(square for one in modulations for square in (one.scale_squares, one.shift_squares)),
        ]

    weights = [conv.get_parameter(name).detach().requires_grad_() for name in names]
    assert gradcheck(layer, [x.requires_grad_(), *weights], fast_mode=True)


@pytest.mark.parametrize("form", FORMS)
def test_renumbering_renumbers(form: str, x: Tensor) -> None:
    assert_renumbering_renumbers(conv_of(form), x, NINE_EDGES)


@pytest.mark.parametrize("form", ["gin", "row sums"])
def test_a_localized_bias_is_added_at_every_node(form: str, x: Tensor) -> None:
    conv = conv_of(form)
    assert conv.bias is not None
    torch.nn.init.normal_(conv.bias)
    plain = deepcopy(conv)
    plain.bias = plain.bias_modulator = None
    out, modulations = conv(x, NINE_EDGES, return_modulations=True)
    (of_bias,) = (one for one in modulations if one.level == "bias")
    expected = (conv.bias.view(conv.heads, -1) * of_bias.scale + of_bias.shift).flatten(1)
    torch.testing.assert_close(out - plain(x, NINE_EDGES), expected)


def test_every_parameter_learns(x: Tensor) -> None:
    for form in FORMS:
        conv = conv_of(form)
        out, modulations = conv(x, NINE_EDGES, return_modulations=True)
        pulled = sum(one.scale_squares for one in modulations)
        pulled = pulled + sum(
            one.attention.sin().sum() for one in modulations if one.attention is not None
        )
        (out.square().sum() + pulled).backward()
        idle = [name for name, weight in conv.named_parameters() if weight.grad is None]
        eps = {"gin": ["aggregator.eps"], "gin with an mlp": ["aggregator.aggregator.eps"]}
        assert idle == eps.get(form, []), form


def test_attention_is_not_applied_twice() -> None:
    with pytest.raises(InputError, match="would attend twice"):
        LocalizedConv(5, 4, "gat", localization=TO_ATTENTION)


@pytest.mark.parametrize("aggregator", ["gcn", "max"])
def test_edge_scales_are_pulled_to_attention_only_where_that_is_gat(aggregator: str) -> None:
    with pytest.raises(InputError, match="from sums and means only"):
        LocalizedConv(5, 4, aggregator, localization=TO_ATTENTION)
    with pytest.raises(UnknownNameError, match="did you mean 'attention'"):
        LocalizedConv(5, 4, "mean", localization=LocalizationOptions(edge_scale_target="attenton"))


def test_dropout_places_act_in_training_only(x: Tensor) -> None:
    for place in ("weight", "message"):
        torch.manual_seed(1)
        conv = LocalizedConv(5, 4, drop_rates=DropRates(**{place: 0.5})).double()
        assert not torch.equal(conv(x, NINE_EDGES), conv(x, NINE_EDGES)), place
        conv.eval()
        assert torch.equal(conv(x, NINE_EDGES), conv(x, NINE_EDGES)), place


@pytest.mark.slow
@pytest.mark.parametrize("levels", [{}, {"node_level": False}], ids=["localized", "global W"])
def test_weight_dropout_is_right_on_average(x: Tensor, levels: dict[str, bool]) -> None:
    torch.manual_seed(1)
    conv = LocalizedConv(5, 4, drop_rates=DropRates(weight=0.4), **levels).double()
    mean = torch.stack([conv(x, NINE_EDGES) for _ in range(4000)]).mean(0)
    whole = conv.eval()(x, NINE_EDGES)
    assert (mean - whole).abs().max() < 0.1 * whole.abs().max()


def test_nodes_drop_entries_of_a_global_weight_each_on_its_own(x: Tensor) -> None:
    levels = {"node_level": False, "edge_level": False, "aggregator": "sum"}
    conv = LocalizedConv(5, 4, drop_rates=DropRates(weight=0.5), **levels).double()
    loops = torch.arange(len(x)).expand(2, -1)
    rows = conv(torch.ones_like(x), loops)
    assert len(rows.detach().unique(dim=0)) > 1
    results = []
    for kernel in ("reference", "factored", "fused"):
        torch.manual_seed(3)
        with use_kernel(kernel):
            results.append(conv(x, NINE_EDGES))
    torch.testing.assert_close(results[1], results[0], rtol=0, atol=1e-10)
    torch.testing.assert_close(results[2], results[0], rtol=0, atol=1e-10)


def test_edge_weights_scale_messages(x: Tensor) -> None:
    from torch_geometric.nn import GCNConv

    conv = LocalizedConv(5, 4, inits=Inits(modulator="zeros")).double()
    reference = GCNConv(5, 4, bias=False).double()
    reference.lin.weight.data = conv.weight.data[0]
    weight = torch.rand(NINE_EDGES.size(1), dtype=torch.float64, requires_grad=True)
    ours, expected = conv(x, NINE_EDGES, weight), reference(x, NINE_EDGES, weight)
    torch.testing.assert_close(ours, expected)
    torch.testing.assert_close(
        *(torch.autograd.grad(out.sin().sum(), weight)[0] for out in (ours, expected))
    )


def test_neighbor_cap_keeps_the_first_by_number(x: Tensor) -> None:
    from nodewise.nn.aggregators import WeightedSum

    capped = LocalizedConv(5, 4, WeightedSum(BlockRule("set", "mean", max_neighbors=2))).double()
    block = capped.block(NINE_EDGES, (6, 6))
    members = [
        sorted(block.neighbors.source[block.neighbors.target == v].tolist()) for v in range(6)
    ]
    # The neighbors of node 3 are 0, 2, 3 and 4: the cap takes 3 itself from it.
    assert members == [[0, 2], [0, 1], [2, 5], [0, 2], [4], [3, 5]]


@pytest.mark.medium
def test_torch_compile_agrees(x: Tensor) -> None:
    edges = NINE_EDGES[:, NINE_EDGES[0] != NINE_EDGES[1]]
    conv = conv_of("gcn")
    compiled = torch.compile(conv, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, edges), conv(x, edges))
    with pytest.raises(RuntimeError, match="without self-loops"):
        compiled(x, NINE_EDGES)


def test_sums_may_come_first_where_nothing_happens_to_a_message(x: Tensor) -> None:
    """Node level only: W_v sum_u w_uv h_u equals the sum of messages, masks included."""
    for drop in (0.0, 0.4):
        torch.manual_seed(1)
        conv = LocalizedConv(
            5, 4, edge_level=False, heads=2, drop_rates=DropRates(weight=drop)
        ).double()
        outs = []
        for act in (None, torch.nn.Identity()):
            conv.message_act = act  # an activation, even one that does nothing, forbids it
            for rows in (x, SparseRows.from_dense(x)):
                torch.manual_seed(2)
                out = conv(rows, NINE_EDGES)
                outs.append([out, *torch.autograd.grad(out.sin().sum(), list(conv.parameters()))])
        for other in outs[1:]:
            torch.testing.assert_close(outs[0], other)


def test_repr_says_what_it_is() -> None:
    assert repr(conv_of("gat")) == (
        "LocalizedConv(5, 4, aggregator=Gat(4, heads=3, scores='global'), heads=3, "
        "localized=node+edge)"
    )
