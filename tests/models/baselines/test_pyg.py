from __future__ import annotations

import pytest
import torch
from torch.nn.functional import dropout
from torch_geometric.nn import GCNConv

from nodewise.models.baselines.pyg import PygGCN
from nodewise.models.zoo import ZOO, PlainRow, build_model, paper_count
from tests.graphs import SIX_EDGES

X = torch.randn(5, 6, generator=torch.Generator().manual_seed(0))
NAMES = [name for name, row in ZOO.items() if isinstance(row, PlainRow)]


@pytest.mark.parametrize("name", NAMES)
def test_every_model_of_pyg_trains_a_step(name: str) -> None:
    model = build_model(name, 6, 3)
    out = model(X, SIX_EDGES)
    assert out.shape == (5, 3)
    out.square().sum().backward()
    assert all(weight.grad is not None for weight in model.parameters())


def test_sizes_are_those_of_the_names() -> None:
    counts = {name: paper_count(name, build_model(name, 1433, 7)) for name in NAMES}
    assert counts["PyG-GCN-64"] == 64 * (1433 + 7)
    assert counts["PyG-SAGE-64"] == 2 * counts["PyG-GCN-64"]
    assert counts["PyG-GAT-8x8"] == 64 * (1433 + 7) + 2 * 64 + 2 * 7


def test_gcn_is_that_of_cached_edges_but_another_graph_has_others() -> None:
    torch.manual_seed(0)
    ours = PygGCN(6, 3)
    twins = [GCNConv(6, 64, cached=True), GCNConv(64, 3, cached=True)]
    for conv, twin in zip((ours.conv1, ours.conv2), twins, strict=True):
        twin.load_state_dict(conv.state_dict())
    torch.manual_seed(1)
    found = ours(X, SIX_EDGES)
    torch.manual_seed(1)
    hidden = twins[0](dropout(X), SIX_EDGES).relu()
    torch.testing.assert_close(found, twins[1](dropout(hidden), SIX_EDGES))
    ours.eval()
    before = ours(X, SIX_EDGES)
    assert ours._edges is not None and ours._edges[0] is not SIX_EDGES
    other = SIX_EDGES.flip(1)[:, :4]
    assert not torch.allclose(ours(X, other), before)
    torch.testing.assert_close(ours(X, SIX_EDGES), before)
