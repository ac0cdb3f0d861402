from __future__ import annotations

import torch
from hypothesis import given, settings
from torch import Tensor
from torch_geometric.utils import softmax as pyg_softmax

from nodewise.nn.aggregators.scores import softmax
from nodewise.nn.block import Block
from nodewise.ops.neighbors import Neighborhood
from tests.graphs import edge_lists


@settings(max_examples=50, deadline=None, derandomize=True)
@given(edge_lists())
def test_softmax_is_that_of_pyg(graph: tuple[Tensor, int]) -> None:
    edge_index, nodes = graph
    neighbors = Neighborhood.from_edges(edge_index, nodes)
    scores = 50 * torch.randn(neighbors.num_edges, 2, dtype=torch.float64)
    ours = softmax(scores, Block(neighbors, None))
    torch.testing.assert_close(ours, pyg_softmax(scores, neighbors.target, num_nodes=nodes))
