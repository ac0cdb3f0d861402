"""Wrong sizes and types in direct calls: the error names the argument, what it got and expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

import nodewise as nw
from nodewise.errors import InputError
from nodewise.nn.block import BlockRule
from nodewise.nn.film_conv import FilmConv
from nodewise.nn.localize import localize
from nodewise.nn.localized_conv import LocalizedConv

NODES, WIDTH, EDGES = 20, 6, 50


def edges() -> Tensor:
    return torch.randint(0, NODES, (2, EDGES), generator=torch.Generator().manual_seed(0))


@dataclass(frozen=True)
class Call:
    """The arguments of a good call, of which a test replaces one."""

    x: Any = None
    edge_index: Any = None
    edge_weight: Any = None

    @classmethod
    def good(cls) -> Call:
        draw = torch.Generator().manual_seed(1)
        return cls(torch.rand(NODES, WIDTH, generator=draw), edges(), torch.ones(EDGES))


GOOD = Call.good()
CSR = GOOD.x.to_sparse_csr()
WRONG: dict[str, tuple[Call, str, str]] = {
    "float64 rows": (replace(GOOD, x=GOOD.x.double()), "x", "torch.float32.*torch.float64"),
    "float64 sparse rows": (replace(GOOD, x=CSR.double()), "x", "torch.float32.*torch.float64"),
    "half rows": (replace(GOOD, x=GOOD.x.half()), "x", "torch.float32.*torch.float16"),
    "integer rows": (replace(GOOD, x=GOOD.x.long()), "x", "torch.float32.*torch.int64"),
    "one row": (replace(GOOD, x=GOOD.x[:, 0]), "x", r"shape \(nodes, 6\).*\(20,\)"),
    "three axes": (replace(GOOD, x=GOOD.x[None]), "x", r"shape \(nodes, 6\).*\(1, 20, 6\)"),
    "narrow rows": (replace(GOOD, x=GOOD.x[:, :4]), "x", r"shape \(nodes, 6\).*\(20, 4\)"),
    "COO rows": (replace(GOOD, x=GOOD.x.to_sparse()), "x", "sparse_coo.*to_sparse_csr"),
    "an array": (replace(GOOD, x=GOOD.x.numpy()), "x", "ndarray.*torch.from_numpy"),
    "rows on another device": (replace(GOOD, x=GOOD.x.to("meta")), "x", "on cpu.*meta"),
    "turned edges": (replace(GOOD, edge_index=edges().t()), "edge_index", r"\(2, E\).*\(50, 2\)"),
    "int32 edges": (replace(GOOD, edge_index=edges().int()), "edge_index", "int64.*int32"),
    "short weights": (replace(GOOD, edge_weight=torch.ones(9)), "edge_weight", r"\(50\).*\(9,\)"),
    "long weights": (replace(GOOD, edge_weight=torch.ones(51)), "edge_weight", r"\(50\).*\(51,\)"),
    "a column of weights": (
        replace(GOOD, edge_weight=torch.ones(50, 1)),
        "edge_weight",
        r"\(50\).*\(50, 1\)",
    ),
    "float64 weights": (
        replace(GOOD, edge_weight=torch.ones(EDGES).double()),
        "edge_weight",
        "torch.float32.*torch.float64",
    ),
    "integer weights": (
        replace(GOOD, edge_weight=torch.ones(EDGES).long()),
        "edge_weight",
        "torch.float32.*torch.int64",
    ),
    "a list of weights": (replace(GOOD, edge_weight=[1.0] * EDGES), "edge_weight", "tensor.*list"),
}
LAYERS: dict[str, Callable[[], Any]] = {
    "gcn": lambda: LocalizedConv(WIDTH, 4),
    "gat": lambda: LocalizedConv(WIDTH, 4, "gat", heads=2),
    "gin, node level": lambda: LocalizedConv(WIDTH, 4, "gin", edge_level=False),
    "mean, global": lambda: LocalizedConv(WIDTH, 4, "mean", node_level=False, edge_level=False),
    "max": lambda: LocalizedConv(WIDTH, 4, "max"),
    "film": lambda: FilmConv(WIDTH, 4),
    "twin of GCN": lambda: localize(GCNConv(WIDTH, 4)),
    "twin of GAT": lambda: localize(GATConv(WIDTH, 4)),
    "twin of SAGE": lambda: localize(SAGEConv(WIDTH, 4)),
    "twin of GIN": lambda: localize(GINConv(torch.nn.Linear(WIDTH, 4))),
    "LGCN": lambda: nw.LGCN(WIDTH, 4, 3),
    "LSAGE": lambda: nw.build_model("LSAGE", in_channels=WIDTH, out_channels=3),
    "MLP": lambda: nw.build_model("MLP", in_channels=WIDTH, out_channels=3),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("layer", LAYERS)
def test_a_wrong_argument_is_named_with_what_was_expected(layer: str, wrong: str) -> None:
    call, blamed, words = WRONG[wrong]
    if layer == "MLP" and blamed != "x":
        pytest.skip("it has no edges")
    module = LAYERS[layer]()
    module(GOOD.x, GOOD.edge_index)
    with pytest.raises(InputError, match=words) as caught:
        module(call.x, call.edge_index, call.edge_weight)
    assert caught.value.field == blamed


@pytest.mark.parametrize("layer", ["gcn", "twin of GCN", "LGCN"])
def test_weights_whose_degree_has_no_root_are_refused(layer: str) -> None:
    weight = torch.ones(EDGES)
    weight[edges()[1] == 3] = -2.0
    module = LAYERS[layer]()
    with pytest.raises(InputError, match=r"edge_weight: must add up to at least 0.*into node 3"):
        module(GOOD.x, GOOD.edge_index, weight)
    assert module(GOOD.x, GOOD.edge_index, weight.abs()).isfinite().all()
    for value in (float("nan"), float("inf")):
        with pytest.raises(InputError, match="edge_weight"):
            module(GOOD.x, GOOD.edge_index, weight.abs().index_fill(0, torch.tensor(5), value))


def test_negative_weights_that_leave_a_root_are_pygs() -> None:
    weight = torch.ones(EDGES, dtype=torch.float64)
    weight[4] = -0.25
    base = GCNConv(WIDTH, 4, bias=False).double()
    conv = LocalizedConv(WIDTH, 4, node_level=False, edge_level=False).double()
    conv.weight.data[0] = base.lin.weight.data
    x = GOOD.x.double()
    torch.testing.assert_close(conv(x, edges(), weight), base(x, edges(), weight))


def test_a_mean_under_weights_of_zero_is_zero() -> None:
    conv = LocalizedConv(WIDTH, 4, "mean", node_level=False, edge_level=False)
    conv.aggregator.rule = BlockRule("none", "mean")
    assert torch.equal(conv(GOOD.x, edges(), torch.zeros(EDGES)), torch.zeros(NODES, 4))


@pytest.mark.parametrize("kernel", ["reference", "factored", "fused"])
@pytest.mark.parametrize("layer", LAYERS)
def test_graphs_without_nodes_or_edges_are_graphs(layer: str, kernel: str) -> None:
    module, none = LAYERS[layer](), torch.zeros(2, 0, dtype=torch.int64)
    with nw.use_kernel(kernel):
        for nodes in (0, 1, 5):
            x = GOOD.x[:nodes].clone().requires_grad_()
            out = module(x, none)
            out.sum().backward()
            assert out.shape[0] == nodes and out.isfinite().all()
            weighted = module(x, none, torch.ones(0))
            assert weighted.shape == out.shape


def test_a_block_brings_its_weights_and_its_number_of_rows() -> None:
    conv = LocalizedConv(WIDTH, 4)
    block = conv.block(edges(), (NODES, NODES))
    assert torch.equal(conv(GOOD.x, block), conv(GOOD.x, edges()))
    with pytest.raises(InputError, match=r"x: must have the shape \(20, 6\).*\(19, 6\)"):
        conv(GOOD.x[1:], block)
    with pytest.raises(InputError, match="edge_weight: is given twice"):
        conv(GOOD.x, block, torch.ones(EDGES))
    with pytest.raises(InputError, match=r"edge_index: .*torch\.float32, not torch\.float64"):
        LocalizedConv(WIDTH, 4).double()(GOOD.x.double(), block)


def test_a_field_takes_the_rows_of_its_nodes() -> None:
    model = nw.LGCN(WIDTH, 4, 3)
    field = model.receptive_field(edges(), NODES, torch.tensor([1]))
    with pytest.raises(InputError, match=r"x: .*field.take\(x\)"):
        model(GOOD.x, field)
    with pytest.raises(InputError, match="edge_weight: is given twice"):
        model(field.take(GOOD.x), field, torch.ones(EDGES))
    for targets in (torch.tensor([NODES]), torch.tensor([-1]), torch.ones(NODES).bool()):
        with pytest.raises(InputError, match="targets"):
            model.receptive_field(edges(), NODES, targets)


@pytest.mark.parametrize(
    "sizes",
    [
        {"in_channels": 0},
        {"in_channels": -2},
        {"out_channels": 0},
        {"heads": 0},
        {"bottleneck": 0},
        {"out_channels": 2.5},
    ],
)
def test_a_layer_has_sizes_of_at_least_one(sizes: dict[str, Any]) -> None:
    (name,) = sizes
    with pytest.raises(InputError, match=f"{name}: must be"):
        LocalizedConv(**{"in_channels": 4, "out_channels": 3, **sizes})


@pytest.mark.medium
def test_a_compiled_layer_refuses_them_too() -> None:
    compiled = torch.compile(LocalizedConv(WIDTH, 4), backend="aot_eager")
    plain = edges()[:, edges()[0] != edges()[1]]
    weight = torch.ones(plain.size(1))
    assert compiled(GOOD.x, plain, weight).isfinite().all()
    for x, given in ((GOOD.x.double(), weight), (GOOD.x[:, :4], weight), (GOOD.x, weight[1:])):
        with pytest.raises(Exception, match=r"must be torch\.float32|must have the shape"):
            compiled(x, plain, given)
