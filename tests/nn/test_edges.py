"""Edges in PyG's forms give what edges (2, E) give: values, gradients and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric import EdgeIndex
from torch_geometric.nn import GATConv, GCNConv, GraphConv
from torch_geometric.typing import SparseTensor

from nodewise.errors import InputError
from nodewise.models.classifier import LGAT, LGCN, LGIN
from nodewise.nn.film_conv import FilmConv
from nodewise.nn.localize import localize
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.testing import assert_field_equals_full_graph

# Sorted by target, then source, as a CSR adjacency stores them; without loops and repeats.
EDGES = torch.tensor([[1, 2, 0, 5, 0, 2, 4, 3], [0, 0, 1, 2, 3, 3, 3, 5]])
NODES = 6


def adjacency(weight: Tensor, layout: torch.layout, sizes: tuple[int, int] = (6, 6)) -> Tensor:
    """The matrix with rows for targets, as PyG's convs take it."""
    entries = (EDGES.flip(0), weight)
    if layout == torch.sparse_coo:
        return torch.sparse_coo_tensor(*entries, sizes, check_invariants=True)
    if layout == torch.sparse_csr:
        ptr = torch.bincount(EDGES[1], minlength=sizes[0]).cumsum(0)
        ptr = torch.cat([ptr.new_zeros(1), ptr])
        return torch.sparse_csr_tensor(ptr, EDGES[0], weight, sizes, check_invariants=True)
    order = torch.argsort(EDGES[0], stable=True)
    ptr = torch.bincount(EDGES[0], minlength=sizes[1]).cumsum(0)
    ptr = torch.cat([ptr.new_zeros(1), ptr])
    rows = EDGES[1][order]
    return torch.sparse_csc_tensor(ptr, rows, weight[order], sizes, check_invariants=True)


LAYOUTS = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)
LAYERS: dict[str, Callable[[], Any]] = {
    "LocalizedConv": lambda: LocalizedConv(5, 4, heads=2),
    "mean": lambda: LocalizedConv(5, 4, "mean", bottleneck=2),
    "gatv2": lambda: LocalizedConv(5, 4, "gatv2"),
    "FilmConv": lambda: FilmConv(5, 4, "gat"),
    "twin of GraphConv": lambda: localize(GraphConv(5, 4)),
    "LGCN": lambda: LGCN(5, 4, 3, dropout=0.0),
    "LGAT": lambda: LGAT(5, 4, 3, heads=2, dropout=0.0),
    "LGIN": lambda: LGIN(5, 4, 3, dropout=0.0),
}


def weights() -> Tensor:
    draw = torch.Generator().manual_seed(1)
    return torch.rand(EDGES.size(1), generator=draw, dtype=torch.float64).requires_grad_()


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(0)
    return torch.randn(NODES, 5, dtype=torch.float64)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", LAYERS)
def test_an_adjacency_equals_its_edges_and_weights(
    name: str, layout: torch.layout, x: Tensor
) -> None:
    torch.manual_seed(2)
    layer, weight = LAYERS[name]().double(), weights()
    results = []
    for arguments in ((EDGES, weight), (adjacency(weight, layout),)):
        out = layer(x, *arguments)
        learned = [weight, *(each for each in layer.parameters() if each.requires_grad)]
        grads = torch.autograd.grad(out.sin().sum(), learned, allow_unused=True)
        results.append([out, *(grad for grad in grads if grad is not None)])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", LAYERS)
def test_an_edge_index_equals_its_tensor(name: str, x: Tensor) -> None:
    torch.manual_seed(2)
    layer = LAYERS[name]().double()
    for dtype in (torch.int64, torch.int32):
        edges = EdgeIndex(EDGES.to(dtype), sparse_size=(NODES, NODES), sort_order="col")
        torch.testing.assert_close(layer(x, edges), layer(x, EDGES))


@pytest.mark.filterwarnings("ignore:Converting sparse tensor to CSR:UserWarning")  # by PyG
@pytest.mark.parametrize("layout", LAYOUTS[:2])
def test_without_localization_an_adjacency_gives_pygs_gcn(layout: torch.layout, x: Tensor) -> None:
    conv = LocalizedConv(5, 4, node_level=False, edge_level=False).double()
    base, weight = GCNConv(5, 4, bias=False).double(), weights()
    base.lin.weight.data = conv.weight.data[0]
    results = []
    matrix = adjacency(weight, layout)
    with torch.sparse.check_sparse_tensor_invariants(False):  # PyG's matrix is not checked
        torch.testing.assert_close(conv(x, matrix), base(x, adjacency(weight.detach(), layout)))
    # PyG has no gradient of the values of a COO matrix.
    for out in (conv(x, matrix), base(x, EDGES, weight)):
        results.append([out, *torch.autograd.grad(out.sin().sum(), weight)])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_attention_takes_an_adjacency_as_pygs_does(layout: torch.layout, x: Tensor) -> None:
    torch.manual_seed(0)
    base = GATConv(5, 4, heads=2).double()
    expected = base(x, EDGES)
    torch.testing.assert_close(localize(base)(x, adjacency(weights(), layout)), expected)


def test_repeated_entries_of_an_adjacency_add_up(x: Tensor) -> None:
    conv = LocalizedConv(5, 4, "gin").double()
    twice = torch.sparse_coo_tensor(EDGES.flip(0).repeat(1, 2), torch.ones(16), (NODES, NODES))
    weight = torch.full((8,), 2.0, dtype=torch.float64)
    torch.testing.assert_close(conv(x, twice), conv(x, EDGES, weight))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_bipartite_adjacency_has_targets_for_rows(layout: torch.layout, x: Tensor) -> None:
    torch.manual_seed(0)
    x_target = torch.randn(7, 3, dtype=torch.float64)
    conv = LocalizedConv((5, 3), 4, "gatv2").double()
    matrix = adjacency(weights(), layout, (7, NODES))
    torch.testing.assert_close(conv((x, x_target), matrix), conv((x, x_target), EDGES, weights()))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_receptive_field_may_come_from_an_adjacency(layout: torch.layout, x: Tensor) -> None:
    model = LGCN(5, 4, 3, dropout=0.0).double()
    matrix = adjacency(weights().detach(), layout)
    assert_field_equals_full_graph(model, x, matrix, torch.tensor([3, 0]))


def unchecked(name: str) -> Any:
    """Edges of which the fourth names node 6 of 6, in the form of that name."""
    source, target = EDGES.clone()
    source[3] = 6
    if name == "edge_index":
        return torch.stack([source, target])
    if name == "EdgeIndex":
        return EdgeIndex(torch.stack([source, target]))
    ones, ptr = torch.ones(8), torch.tensor([0, 2, 3, 4, 7, 7, 8])
    if name == "COO":
        return torch.sparse_coo_tensor(torch.stack([target, source]), ones, (6, 6))
    compressed = torch.sparse_csr_tensor if name == "CSR" else torch.sparse_csc_tensor
    with torch.sparse.check_sparse_tensor_invariants(False):
        return compressed(ptr, source, ones, (6, 6))


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("edge_index", r"edge_index\[0, 3\]"),
        ("EdgeIndex", r"edge_index\[0, 3\]"),
        ("COO", r"edge_index.indices\(\)\[1, 3\]"),
        ("CSR", r"edge_index.col_indices\(\)\[3\]"),
        ("CSC", r"edge_index.row_indices\(\)\[3\]"),
    ],
)
def test_a_node_out_of_range_is_named_with_its_place(name: str, place: str, x: Tensor) -> None:
    words = rf"{place}: must be at least 0 and below 6, the number of nodes \(found 6\)"
    for layer in (LocalizedConv(5, 4), LGCN(5, 4, 3), FilmConv(5, 4)):
        with pytest.raises(InputError, match=words):
            layer.double()(x, unchecked(name))


def test_a_source_that_is_only_a_target_is_out_of_range(x: Tensor) -> None:
    """GIN's targets are added to the sources; a wrong number must not name one of them."""
    with pytest.raises(InputError, match=r"edge_index\[0, 1\]: .* below 6, the number of nodes"):
        LocalizedConv(5, 4, "gin").double()((x, x[:4]), torch.tensor([[0, 7], [1, 2]]))


@pytest.mark.parametrize(
    ("edge_index", "words"),
    [
        (object.__new__(SparseTensor), "torch_sparse.SparseTensor.*to_torch_sparse_csr_tensor"),
        ([[0, 1], [1, 2]], "'list'.*give a tensor"),
        (torch.eye(6).to_sparse_bsr((2, 2)), "torch.sparse_bsr.*COO, CSR or CSC"),
        (torch.eye(5).to_sparse_csr(), "of 6 sources, the number of rows of x .found 5."),
        (torch.ones(5, 6).to_sparse_csc(), "of 6 targets, the number of rows of x .found 5."),
        (EdgeIndex([[0], [1]], sparse_size=(7, 7)), "of 6 sources.*found 7"),
        (EDGES.float(), "must be int64"),
    ],
)
def test_what_no_edges_are_is_refused(edge_index: Any, words: str, x: Tensor) -> None:
    with pytest.raises(InputError, match=words):
        LocalizedConv(5, 4).double()(x, edge_index)


def test_weights_are_not_given_twice(x: Tensor) -> None:
    with pytest.raises(InputError, match="edge_weight: is given twice"):
        LocalizedConv(5, 4).double()(x, adjacency(weights(), torch.sparse_csr), weights())
