from __future__ import annotations

import pytest
import torch
from torch.nn import Linear, ReLU, Sequential
from torch_geometric import nn as pyg

from nodewise.nn.aggregators import GinSum, PostProcess, WeightedSum
from nodewise.nn.block import BlockRule
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.nn.options import Inits


def test_gin_takes_the_rest_of_an_mlp() -> None:
    torch.manual_seed(0)
    base, edge_index = (
        pyg.GINConv(Sequential(Linear(5, 7), ReLU(), Linear(7, 4)), eps=0.3),
        torch.randint(0, 6, (2, 15)),
    )
    aggregator = PostProcess(GinSum(0.3), base.nn[1:], base.nn[0].bias)
    ours = LocalizedConv(5, 7, aggregator, inits=Inits(modulator="zeros"))
    ours.weight.data.copy_(base.nn[0].weight[None])
    x = torch.randn(6, 5)
    torch.testing.assert_close(ours(x, edge_index), base(x, edge_index))


@pytest.mark.parametrize(("rule", "middle"), [("none", 4.0), ("count", 2.0), ("mean", 2.5)])
def test_a_weighted_sum_divides_as_its_rule_says(rule: str, middle: float) -> None:
    aggregator = WeightedSum(BlockRule("none", rule))  # type: ignore[arg-type]
    conv = LocalizedConv(1, 1, aggregator, node_level=False, edge_level=False)
    conv.weight.data.fill_(1.0)
    x, edge_index = torch.tensor([[1.0], [7.0], [4.0]]), torch.tensor([[0, 2], [1, 1]])
    out = conv(x, edge_index, torch.tensor([0.8, 0.8]))
    assert out[1].item() == pytest.approx(middle)


def test_reset_restores_eps_and_every_part_of_a_post_process() -> None:
    rest = Linear(4, 4)
    aggregator = PostProcess(GinSum(0.3, train_eps=True), rest, torch.ones(4))
    assert isinstance(aggregator.aggregator, GinSum) and aggregator.bias is not None
    before = rest.weight.detach().clone()
    aggregator.aggregator.eps.data.fill_(5.0)
    aggregator.reset_parameters()
    assert aggregator.aggregator.eps.item() == pytest.approx(0.3)
    assert not aggregator.bias.any() and not torch.equal(rest.weight, before)
