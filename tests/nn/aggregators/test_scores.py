from __future__ import annotations

import torch
from hypothesis import given, settings
from torch import Tensor
from torch_geometric.utils import softmax as judge

from nodewise.nn.aggregators import AggregationInputs, Gat
from nodewise.nn.aggregators.scores import softmax
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.nn.options import DropRates
from nodewise.ops.neighbors import Neighborhood
from tests.graphs import edge_lists


@settings(max_examples=50, deadline=None, derandomize=True)
@given(edge_lists())
def test_softmax_is_that_of_pyg(graph: tuple[Tensor, int]) -> None:
    edge_index, nodes = graph
    neighbors = Neighborhood.from_edges(edge_index, nodes)
    scores = 50 * torch.randn(neighbors.num_edges, 2, dtype=torch.float64)
    ours = softmax(scores, neighbors)
    torch.testing.assert_close(ours, judge(scores, neighbors.target, num_nodes=nodes))


def test_scores_of_messages_take_the_loop_as_the_centre() -> None:
    """The released LGAT by hand: node 0 hears node 1 and itself."""
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
