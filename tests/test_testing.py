"""The laws as shipped: they hold for what is right, and raise for what is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GATConv, GCNConv

from nodewise import testing
from nodewise.models.classifier import LGCN, LGIN, Classifier
from nodewise.nn.aggregators import WeightedSum
from nodewise.nn.block import BlockRule
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.nn.options import LocalizationOptions
from nodewise.nn.penalty import Penalty
from tests.graphs import SIX_EDGES


class Wrong(torch.nn.Module):
    """Depends on node numbers, on the kernel's mood, on everything it should not."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.calls = 0

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        self.calls += 1
        return self.weight * x * torch.arange(x.size(0))[:, None] * self.calls


def test_wrong_models_break_the_laws() -> None:
    x = torch.randn(5, 3)
    with pytest.raises(AssertionError, match="kernel"):
        testing.assert_kernels_agree(Wrong(), x, SIX_EDGES)
    with pytest.raises(AssertionError, match="renumbering"):
        testing.assert_renumbering_renumbers(Wrong(), x, SIX_EDGES)
    with pytest.raises(AssertionError, match="parameter count: found 1, expected 2"):
        testing.assert_parameter_count(Wrong(), 2)


def test_a_twin_of_another_conv_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    conv, other = GCNConv(3, 2), GCNConv(3, 2)
    twin = testing.localize(other)
    monkeypatch.setattr(testing, "localize", lambda conv: twin)
    with pytest.raises(AssertionError, match="reduction to the base"):
        testing.assert_reduces_to_base(conv, torch.randn(5, 3), SIX_EDGES)


def test_a_field_that_forgets_is_caught() -> None:
    class Forgetful(LGCN):
        def receptive_field(self, edge_index, num_nodes, targets, edge_weight=None):  # type: ignore[no-untyped-def]
            return super().receptive_field(edge_index[:, :-2], num_nodes, targets)

    model = Forgetful(3, hidden_channels=8, out_channels=2).eval()
    with pytest.raises(AssertionError, match="receptive field"):
        testing.assert_field_equals_full_graph(
            model, torch.randn(5, 3), SIX_EDGES, torch.tensor([0, 2])
        )


X, Y = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1, 0, 1, 1])


def seeded(model: type[Classifier]) -> Callable[[], Classifier]:
    def make() -> Classifier:
        torch.manual_seed(0)
        return model(3, hidden_channels=4, out_channels=2, dropout=0.0)  # type: ignore[call-arg]

    return make


@pytest.mark.medium
@pytest.mark.parametrize("model", [LGCN, pytest.param(LGIN, marks=pytest.mark.slow)])
def test_law_7_a_growing_lambda_leads_back_to_the_base(model: type[Classifier]) -> None:
    testing.assert_lambda_leads_to_base(seeded(model), X, SIX_EDGES, Y)


def test_a_lambda_that_does_nothing_is_caught() -> None:
    with pytest.raises(AssertionError, match="distances from it are"):
        testing.assert_lambda_leads_to_base(seeded(LGCN), X, SIX_EDGES, Y, (0.0, 0.0), steps=5)


@pytest.mark.medium
@pytest.mark.parametrize(
    "normalization", ["none", *(pytest.param(n, marks=pytest.mark.slow) for n in ("mean", "count"))]
)
def test_law_7_pulled_to_attention_it_becomes_gat(normalization: str) -> None:
    """On a graph whose edges a linear generator can tell apart, the limit is one-head GAT."""
    torch.manual_seed(0)
    x = torch.eye(4, dtype=torch.float64)
    edges = torch.tensor([[0, 1, 1, 2, 3], [2, 2, 3, 0, 3]])
    aggregator = WeightedSum(BlockRule("none", normalization))  # type: ignore[arg-type]
    to_attention = LocalizationOptions(edge_scale_target="attention")
    conv = LocalizedConv(4, 3, aggregator, localization=to_attention).double()
    gat = GATConv(4, 3, add_self_loops=False, bias=False).double()
    assert conv.attention is not None
    gat.lin.weight.data = conv.weight.data[0]
    gat.att_src.data, gat.att_dst.data = (
        att.data[None] for att in (conv.attention.source, conv.attention.target)
    )
    penalty = Penalty(0, 0, 1.0)
    start = (conv(x, edges) - gat(x, edges)).abs().max()
    optimizer = torch.optim.Adam(conv.local_parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 800)
    for _ in range(800):
        optimizer.zero_grad()
        _, modulations = conv(x, edges, return_modulations=True)
        penalty([], [], modulations).modulations.backward()
        optimizer.step()
        schedule.step()
    assert start > 0.1
    assert (conv(x, edges) - gat(x, edges)).abs().max() < 1e-3
