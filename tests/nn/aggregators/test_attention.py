from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric import nn as pyg

from nodewise.nn.aggregators import AggregationInputs, Gat, GatV2
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.nn.options import DropRates, Inits, MessageOptions


def test_attention_by_name_serves_pairs() -> None:
    torch.manual_seed(0)
    base = pyg.GATConv((5, 3), 4, heads=2, bias=False)
    ours = LocalizedConv((5, 3), 4, "gat", heads=2, inits=Inits(modulator="zeros"))
    assert isinstance(ours.aggregator, Gat) and ours.aggregator.target_weight is not None
    attention = ours.aggregator.attention
    for to, value in (
        (ours.weight, base.lin_src.weight),
        (ours.aggregator.target_weight, base.lin_dst.weight),
        (attention.source, base.att_src),
        (attention.target, base.att_dst),
    ):
        to.data.copy_(value.view_as(to))
    pair, edge_index = (torch.randn(6, 5), torch.randn(4, 3)), torch.tensor([[0, 5, 2], [1, 0, 3]])
    torch.testing.assert_close(ours(pair, edge_index), base(pair, edge_index))


def test_scores_of_messages_take_the_loop_as_the_center() -> None:
    """The released LGAT by hand: node 0 receives messages from node 1 and itself."""
    torch.manual_seed(0)
    x = torch.randn(2, 3)
    conv = LocalizedConv(3, 4, Gat(4, scores="messages"))
    out, modulations = conv(x, torch.tensor([[1], [0]]), return_modulations=True)
    node, edge = modulations
    local = conv.weight[0] * node.scale[0, 0] + node.shift[0, 0]
    messages = [local @ x[u] * edge.scale[i, 0] + edge.shift[i, 0] for i, u in enumerate((1, 0))]
    attention = conv.aggregator.attention
    scores = torch.stack(
        [attention.source[0] @ m + attention.target[0] @ messages[1] for m in messages]
    )
    alpha = torch.nn.functional.leaky_relu(scores, 0.2).softmax(0)
    torch.testing.assert_close(out[0], alpha[0] * messages[0] + alpha[1] * messages[1])


def test_attention_looks_at_messages_before_they_are_dropped() -> None:
    torch.manual_seed(0)
    seen: list[Tensor] = []

    class Listening(Gat):
        def alpha(self, inputs: AggregationInputs, raw: Tensor | None) -> Tensor:
            seen.append(super().alpha(inputs, raw))
            return seen[-1]

    conv = LocalizedConv(3, 4, Listening(4, scores="messages"), drop_rates=DropRates(message=0.5))
    x, edges = torch.randn(4, 3), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    one, other = conv(x, edges), conv(x, edges)
    assert not torch.equal(one, other)
    assert torch.equal(seen[0], seen[1])


@pytest.mark.parametrize("widths", [5, (5, 3)])
@pytest.mark.parametrize("bias", [False, True])
def test_gatv2_by_name_is_pygs(widths: int | tuple[int, int], bias: bool) -> None:
    torch.manual_seed(0)
    base = pyg.GATv2Conv(widths, 4, heads=2, bias=False)
    zeros = Inits(modulator="zeros", bias="small_uniform")
    ours = LocalizedConv(
        widths, 4, "gatv2", heads=2, message=MessageOptions(bias=bias), inits=zeros
    )
    assert isinstance(ours.aggregator, GatV2)
    for to, value in (
        (ours.weight, base.lin_l.weight),
        (ours.aggregator.target_weight, base.lin_r.weight),
        (ours.aggregator.attention, base.att),
    ):
        to.data.copy_(value.view_as(to))
    if bias:
        base.lin_l.bias = torch.nn.Parameter(ours.message_bias.detach().flatten())
    x = torch.randn(6, 5) if widths == 5 else (torch.randn(6, 5), torch.randn(4, 3))
    edge_index = torch.tensor([[0, 5, 2], [1, 0, 3]])
    torch.testing.assert_close(ours(x, edge_index), base(x, edge_index))
