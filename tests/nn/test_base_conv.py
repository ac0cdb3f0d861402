from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric import nn as pyg
from torch_geometric.nn.conv import MessagePassing

from nodewise.errors import InputError
from nodewise.nn import base_conv
from nodewise.nn.aggregators import Gat
from nodewise.nn.film_conv import FilmConv
from nodewise.nn.localize import localize
from nodewise.nn.localized_conv import LocalizedConv
from tests.graphs import NINE_EDGES
from tests.nn.test_localized_conv import FORMS, conv_of


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(0)
    return torch.randn(6, 5, dtype=torch.float64)


def test_global_and_local_parameters_are_everything_once() -> None:
    for form in FORMS:
        conv = conv_of(form)
        parts = [*conv.global_parameters(), *conv.local_parameters()]
        assert sorted(map(id, parts)) == sorted(map(id, conv.parameters())), form


def test_edge_index_changed_in_place_is_noticed(x: Tensor) -> None:
    conv, edges = conv_of("gcn"), NINE_EDGES.clone()
    before = conv(x, edges)
    edges[0, 0] = 5
    assert not torch.equal(conv(x, edges), before)
    torch.testing.assert_close(conv(x, edges), conv(x, edges.clone()))


def test_a_pair_is_refused_where_it_cannot_be_used() -> None:
    edge_index = torch.tensor([[0, 1, 3], [1, 0, 2]])
    with pytest.raises(InputError, match="symmetric normalization"):
        localize(pyg.GCNConv(5, 4))((torch.randn(4, 5), torch.randn(6, 5)), edge_index)
    gin = LocalizedConv((5, 3), 4, "gin")
    with pytest.raises(InputError, match="as wide as the sources"):
        gin((torch.randn(4, 5), torch.randn(6, 3)), edge_index)

    with pytest.raises(InputError, match="a pair without rows for its targets"):
        localize(pyg.SAGEConv(5, 4))((torch.randn(4, 5), None), edge_index)
    attends = LocalizedConv((5, 5), 4, Gat(4, scores="messages"))
    with pytest.raises(InputError, match="a message of every target to itself"):
        attends((torch.randn(4, 5), torch.randn(6, 5)), edge_index)


def test_rows_of_targets_may_be_sparse_in_their_own_context() -> None:
    torch.manual_seed(0)
    gin, edge_index = LocalizedConv(5, 4, "gin"), torch.tensor([[0, 1, 3], [1, 0, 2]])
    x, x_target = torch.rand(4, 5).round(), torch.rand(6, 5).round()
    sparse = gin((x.to_sparse_csr(), x_target.to_sparse_csr()), edge_index)
    torch.testing.assert_close(sparse, gin((x, x_target), edge_index))


@pytest.mark.parametrize("conv", [LocalizedConv, FilmConv])
def test_a_conv_is_a_message_passing_that_never_propagates(
    conv: type[LocalizedConv] | type[FilmConv], x: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = conv(5, 4).double()
    assert isinstance(layer, MessagePassing)
    for name in ("propagate", "message", "aggregate"):
        monkeypatch.setattr(layer, name, None)
    layer(x, NINE_EDGES)


@pytest.mark.parametrize(("width", "multiplied"), [(8, 1), (4, 2)])
def test_few_targets_are_summed_before_they_are_multiplied(
    x: Tensor, width: int, multiplied: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless their sums would be wider than the products."""
    rows: list[int] = []
    whole = base_conv.project
    monkeypatch.setattr(base_conv, "project", lambda *a: rows.append(len(a[0])) or whole(*a))
    conv = LocalizedConv(5, width, "mean", node_level=False, edge_level=False).double().eval()
    block = conv.block(NINE_EDGES, (6, 6))
    part, needed = block.restrict(torch.tensor([1]))
    torch.testing.assert_close(conv(x[needed], part), conv(x, block)[[1]])
    assert len(needed) == 2 and rows == [multiplied, 6]
