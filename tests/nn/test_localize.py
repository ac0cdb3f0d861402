"""Law 1, against PyG's convs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor
from torch.nn import Linear, ReLU, Sequential
from torch_geometric import nn as pyg

from nodewise.errors import InputError
from nodewise.nn.localize import localize
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.ops.dispatch import use_kernel
from nodewise.testing import assert_reduces_to_base
from tests.graphs import edge_lists


def mlp() -> Sequential:
    return Sequential(Linear(5, 7), ReLU(), Linear(7, 4))


CONVS = {
    "GCNConv": lambda: pyg.GCNConv(5, 4),
    "GCNConv improved": lambda: pyg.GCNConv(5, 4, improved=True),
    "GCNConv without loops": lambda: pyg.GCNConv(5, 4, add_self_loops=False, bias=False),
    "GCNConv unnormalized": lambda: pyg.GCNConv(5, 4, normalize=False),
    "SAGEConv": lambda: pyg.SAGEConv(5, 4),
    "SAGEConv normalized": lambda: pyg.SAGEConv(5, 4, normalize=True),
    "SAGEConv rootless sum": lambda: pyg.SAGEConv(5, 4, aggr="add", root_weight=False),
    "GraphConv": lambda: pyg.GraphConv(5, 4),
    "GraphConv mean": lambda: pyg.GraphConv(5, 4, aggr="mean"),
    "GATConv": lambda: pyg.GATConv(5, 4, heads=3),
    "GATConv mean of heads": lambda: pyg.GATConv(5, 4, heads=3, concat=False),
    "GATConv residual": lambda: pyg.GATConv(5, 4, heads=2, residual=True),
    "GATv2Conv": lambda: pyg.GATv2Conv(5, 4, heads=3),
    "GATv2Conv shared": lambda: pyg.GATv2Conv(5, 4, share_weights=True, bias=False),
    "GINConv": lambda: pyg.GINConv(mlp(), eps=0.3),
    "GINConv trained eps": lambda: pyg.GINConv(mlp(), eps=-0.2, train_eps=True),
}


@pytest.mark.parametrize("name", CONVS)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(graph=edge_lists())
def test_twin_equals_its_base(name: str, graph: tuple[Tensor, int]) -> None:
    edge_index, nodes = graph
    torch.manual_seed(nodes)
    x = torch.randn(nodes, 5)
    assert_reduces_to_base(CONVS[name](), x, edge_index)


@pytest.mark.parametrize("bottleneck", [None, 2])
def test_every_generator_of_a_twin_learns_from_the_second_step_on(bottleneck: int | None) -> None:
    torch.manual_seed(0)
    twin = localize(pyg.GCNConv(5, 4), bottleneck=bottleneck)
    x, edge_index = torch.randn(3, 5), torch.tensor([[0, 1, 2], [1, 2, 0]])
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        twin(x, edge_index).square().sum().backward()
        optimizer.step()
    assert all(weight.grad is not None and weight.grad.any() for weight in twin.local_parameters())


def test_a_twin_with_a_bottleneck_equals_its_base() -> None:
    torch.manual_seed(0)
    conv = pyg.GCNConv(5, 4)
    x, edge_index = torch.randn(3, 5), torch.tensor([[0, 1, 2], [1, 2, 0]])
    ours = localize(conv, bottleneck=2)(x, edge_index)
    torch.testing.assert_close(ours, conv(x, edge_index))


BIPARTITE = {
    "SAGEConv": lambda: pyg.SAGEConv((5, 3), 4),
    "GraphConv": lambda: pyg.GraphConv((5, 3), 4),
    "GATConv": lambda: pyg.GATConv((5, 3), 4, heads=2, add_self_loops=False),
    "GATv2Conv": lambda: pyg.GATv2Conv((5, 3), 4, heads=2, add_self_loops=False),
    "GATConv with loops": lambda: pyg.GATConv((5, 3), 4, heads=2),
    "GINConv": lambda: pyg.GINConv(mlp(), eps=0.3),
    "GINConv trained eps": lambda: pyg.GINConv(mlp(), eps=-0.2, train_eps=True),
}


@pytest.mark.parametrize(("sources", "targets"), [(6, 4), (4, 6), (5, 5)])
@pytest.mark.parametrize("name", BIPARTITE)
def test_twin_equals_its_base_on_bipartite_graphs(name: str, sources: int, targets: int) -> None:
    torch.manual_seed(0)
    pair = (torch.randn(sources, 5), torch.randn(targets, 5 if "GIN" in name else 3))
    ends = torch.randint(0, sources, (12,)), torch.randint(0, targets, (12,))
    assert_reduces_to_base(BIPARTITE[name](), pair, torch.stack(ends))


@pytest.mark.parametrize("name", BIPARTITE)
def test_both_ends_of_a_pair_localize_a_twin(name: str) -> None:
    """Rows of targets make scales and shifts of edges, rows of sources those of nodes, too."""
    torch.manual_seed(0)
    x, x_target = torch.randn(6, 5), torch.randn(4, 5 if "GIN" in name else 3)
    edge_index = torch.stack([torch.randint(0, 6, (12,)), torch.arange(12) % 4])
    twin = localize(BIPARTITE[name]()).double()
    for weight in twin.local_parameters():
        torch.nn.init.normal_(weight)
    pair = x.double().requires_grad_(), x_target.double().requires_grad_()

    def modulations(x: Tensor, x_target: Tensor) -> tuple[Tensor, ...]:
        out, modulations = twin((x, x_target), edge_index, return_modulations=True)
        return out, *(part for one in modulations for part in (one.scale, one.shift))

    found = modulations(*pair)
    with use_kernel("reference"):
        for ours, truth in zip(found, modulations(*pair), strict=True):
            torch.testing.assert_close(ours, truth, rtol=1e-10, atol=1e-10)
    *_, edge_scale, edge_shift = found
    for part in (edge_scale, edge_shift):
        of_source, of_target = torch.autograd.grad(part.sum(), pair, retain_graph=True)
        assert of_source.any(1).sum() > 3 and of_target.any(1).all()


@pytest.mark.parametrize("name", CONVS)
def test_a_twin_has_precision_mode_and_frozen_weights_of_its_base(name: str) -> None:
    torch.manual_seed(0)
    conv = CONVS[name]().double().eval()
    x, edge_index = torch.randn(6, 5).double(), torch.randint(0, 6, (2, 15))
    assert torch.is_grad_enabled() and all(w.requires_grad for w in conv.parameters())
    twin = localize(conv)
    assert not twin.training
    assert {weight.dtype for weight in twin.parameters()} == {torch.float64}
    torch.testing.assert_close(twin(x, edge_index), conv(x, edge_index), rtol=1e-12, atol=1e-12)
    trained = sum(weight.requires_grad for weight in twin.global_parameters())
    frozen = localize(conv.requires_grad_(False))
    assert trained > 0 and not any(weight.requires_grad for weight in frozen.global_parameters())
    assert all(weight.requires_grad for weight in frozen.local_parameters())


@pytest.mark.parametrize(
    "conv", [pyg.GCNConv(5, 4), pyg.GraphConv(5, 4), pyg.GraphConv(5, 4, "mean")]
)
def test_twin_equals_its_base_under_edge_weights(conv: Any) -> None:
    torch.manual_seed(0)
    edge_index = torch.randint(0, 6, (2, 15))
    assert_reduces_to_base(conv, torch.randn(6, 5), edge_index, torch.rand(15))


@pytest.mark.parametrize("name", CONVS)
def test_twin_differs_once_its_modulators_do(name: str) -> None:
    torch.manual_seed(0)
    conv, x = CONVS[name](), torch.randn(6, 5)
    edge_index = torch.randint(0, 6, (2, 15))
    for levels in ({"edge_level": False}, {"node_level": False}, {"bottleneck": 2}):
        twin = localize(conv, **levels)
        for weight in twin.local_parameters():
            torch.nn.init.normal_(weight)
        assert (twin(x, edge_index) - conv(x, edge_index)).abs().max() > 1e-3


def test_twin_copies_weights_and_leaves_the_base_alone() -> None:
    conv = pyg.GCNConv(5, 4)
    twin = localize(conv)
    twin.weight.data.zero_()
    assert conv.lin.weight.abs().sum() > 0


@pytest.mark.parametrize(
    ("conv", "words"),
    [
        (pyg.ChebConv(5, 4, K=2), "subclass nodewise.nn.aggregators.Aggregator"),
        (pyg.SAGEConv(5, 4, aggr="max"), "use aggr='mean' or 'add'"),
        (pyg.SAGEConv(5, 4, project=True), "a separate layer"),
        (pyg.GATConv(5, 4, edge_dim=2), "leave edge features out"),
        (pyg.GINConv(ReLU()), "begins with a Linear"),
        (pyg.GCNConv(5, 4, flow="target_to_source"), "reverse the edges"),
        (pyg.SAGEConv(5, 4, node_dim=1), r"SAGEConv.node_dim: .* the first of two axes"),
        (pyg.GraphConv(5, 4, decomposed_layers=2), r"GraphConv.decomposed_layers: .* at 1"),
        (pyg.GCNConv(5, 4, aggr="mean"), r"GCNConv.aggr: .* leave it at 'add'"),
        (pyg.GATConv(5, 4, aggr="max"), r"GATConv.aggr: .* leave it at 'add'"),
        (pyg.GATv2Conv(5, 4, aggr="mean"), r"GATv2Conv.aggr: .* leave it at 'add'"),
        (pyg.GINConv(mlp(), aggr="softmax", aggr_kwargs={"t": 0.1}), r"GINConv.aggr: .* 'add'"),
        (pyg.GCNConv(-1, 4), "call it once"),
        (pyg.SAGEConv((-1, 3), 4), "call it once"),
        (pyg.GATConv(5, 4, heads=2, concat=False, residual=True), "concatenate the heads"),
    ],
)
def test_what_cannot_be_localized_says_the_way_out(conv: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        localize(conv)


def test_weights_that_gatv2_shares_stay_shared() -> None:
    torch.manual_seed(0)
    conv = pyg.GATv2Conv(5, 4, heads=2, share_weights=True)
    twin, x, edge_index = localize(conv), torch.randn(6, 5), torch.randint(0, 6, (2, 15))
    for layer in (conv, twin):
        layer(x, edge_index).sin().sum().backward()
    torch.testing.assert_close(twin.weight.grad.flatten(0, 1), conv.lin_l.weight.grad)
    assert twin.aggregator.target_weight is twin.weight
    assert twin.aggregator.target_bias is twin.message_bias
    assert sum(weight.numel() for weight in twin.global_parameters()) == sum(
        weight.numel() for weight in conv.parameters()
    )


def test_a_cached_conv_has_a_twin_that_notices_another_graph() -> None:
    torch.manual_seed(0)
    conv, x = pyg.GCNConv(5, 4, cached=True), torch.randn(6, 5)
    twin = localize(conv)
    for edge_index in (torch.randint(0, 6, (2, 15)), torch.randint(0, 6, (2, 9))):
        conv.reset_parameters()
        twin = localize(conv)
        torch.testing.assert_close(twin(x, edge_index), conv(x, edge_index))


def feature_graph() -> tuple[Tensor, Tensor, Tensor]:
    """Sixty nodes of three classes, each with about 300 ones among 600 features."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(60) % 3
    place = torch.arange(600)
    occurs = (place >= 100 * y[:, None]) & (place < 100 * y[:, None] + 400)
    x = (torch.rand(60, 600, generator=generator) < 0.75 * occurs).float()
    edge_index = torch.randint(0, 60, (2, 300), generator=generator)
    alike = y[edge_index[0]] == y[edge_index[1]]
    return x, edge_index[:, alike | (torch.rand(300, generator=generator) < 0.2)], y


def train_two_layers(scale: float, **options: Any) -> tuple[float, float, float]:
    """Best accuracy, largest loss after ten epochs and largest scale, in a plain PyG loop."""
    x, edge_index, y = feature_graph()
    x, is_train = scale * x, torch.arange(60) < 30
    torch.manual_seed(0)
    layers = [localize(pyg.SAGEConv(*sizes), **options) for sizes in ((600, 16), (16, 3))]
    weights = [weight for layer in layers for weight in layer.parameters()]
    optimizer = torch.optim.Adam(weights, lr=0.01, weight_decay=5e-4)
    losses, accuracies, largest = [], [], 0.0
    for _ in range(40):
        h, of_first = layers[0](x, edge_index, return_modulations=True)
        h = torch.nn.functional.dropout(h.relu(), 0.5)
        out, of_second = layers[1](h, edge_index, return_modulations=True)
        loss = torch.nn.functional.cross_entropy(out[is_train], y[is_train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        accuracies.append(float((out.argmax(1) == y)[~is_train].float().mean()))
        scales = (of_first + of_second).scales
        largest = max(largest, *(float((each.detach() - 1).abs().max()) for each in scales))
    return max(accuracies), max(losses[10:]), largest


def test_a_twin_trains_on_raw_features_in_a_plain_loop() -> None:
    accuracy, loss, largest = train_two_layers(1.0)
    assert accuracy > 0.85 and loss < 2 and largest < 0.5


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_scales_explode_only_in_the_paper_s_form(scale: float) -> None:
    _, loss, largest = train_two_layers(scale)
    _, paper_loss, paper_largest = train_two_layers(scale, generator_row_sum=0)
    assert largest < 0.5 and loss < 100 * scale
    assert paper_largest > 10 and paper_loss > 100 * loss


@pytest.mark.parametrize(
    ("conv", "bottleneck"),
    [
        (pyg.GCNConv(256, 4), None),
        (pyg.GCNConv(257, 4), 16),
        (pyg.SAGEConv((300, 3), 4), 16),
        (pyg.GINConv(Linear(300, 4)), 16),
    ],
)
def test_wide_rows_have_a_narrow_layer_by_default(conv: Any, bottleneck: int | None) -> None:
    def width(**options: Any) -> int | None:
        node_modulator = localize(conv, **options).node_modulator
        assert node_modulator is not None
        return node_modulator.bottleneck

    assert width() == bottleneck
    assert width(bottleneck=None) is None and width(bottleneck=3) == 3


def test_the_paper_s_form_of_a_twin_sees_rows_as_they_are() -> None:
    assert localize(pyg.GCNConv(5, 4), generator_row_sum=0).generator_row_sum == 0
    assert (
        localize(pyg.GCNConv(5, 4)).generator_row_sum > 0 == LocalizedConv(5, 4).generator_row_sum
    )
