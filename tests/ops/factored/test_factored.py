"""Messages in plain torch: the reference's numbers, chunk by chunk, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from nodewise.ops import dispatch, factored, reference
from nodewise.ops.dropconnect import DropConnect, keep_mask, keep_pairs
from nodewise.ops.factored import visits
from nodewise.ops.neighbors import Neighborhood
from nodewise.ops.sparse import Features, SparseRows
from tests.graphs import MessageCase, message_cases, sparse

close = partial(torch.testing.assert_close, rtol=1e-10, atol=1e-10)
Messages = Callable[..., Tensor]


def a_case(
    density: float, heads: int = 2, rate: float = 0.0, nodes: int = 40, width: int = 30
) -> MessageCase:
    """A graph with a hub, nodes without edges and edges that come twice."""
    torch.manual_seed(1)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64)

    source, target = torch.randint(0, nodes, (300,)), torch.randint(0, nodes - 5, (300,))
    source[1], target[1] = source[0], target[0]
    target[200:] = 7
    neighbors = Neighborhood.from_edges(torch.stack([source, target]), nodes)
    scale, shift = ((normal(nodes, heads, 3), normal(heads, width, 3)) for _ in range(2))
    drop = DropConnect(rate, torch.tensor(11)) if rate else None
    x = normal(nodes, width) * (torch.rand(nodes, width) < density)
    return MessageCase(x, normal(heads, 4, width), scale, shift, neighbors, drop)


def output_and_gradients(case: MessageCase, x: Features, form: Messages) -> list[Tensor]:
    """Messages, then the gradients of features, weights, codes and expands."""
    values = (x.values if isinstance(x, SparseRows) else x).clone().requires_grad_()
    leaves = [leaf.clone().requires_grad_() for leaf in (case.weight, *case.scale, *case.shift)]
    rows = x.with_values(values) if isinstance(x, SparseRows) else values
    if form is reference.messages and isinstance(rows, SparseRows):
        rows = rows.dense()
    pairs = (leaves[1], leaves[2]), (leaves[3], leaves[4])
    z = form(rows, leaves[0], *pairs, case.neighbors, case.drop, 0.2)
    return [z, *torch.autograd.grad(z.sin().sum(), [values, *leaves])]


def assert_agrees(case: MessageCase, x: Features) -> None:
    truth = output_and_gradients(case, x, reference.messages)
    for ours, expected in zip(output_and_gradients(case, x, factored.messages), truth, strict=True):
        close(ours, expected)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(message_cases(), st.sampled_from([1, 50, 1 << 24]), st.booleans())
def test_any_graph_in_any_chunks_agrees(case: MessageCase, numbers: int, as_sparse: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(factored, "CHUNK_NUMBERS", numbers)
        assert_agrees(case, sparse(case.x) if as_sparse else case.x)


@pytest.mark.parametrize("numbers", [1, 100, 2000, 1 << 24])
@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("as_sparse", [True, False])
def test_a_hub_in_many_chunks_agrees(
    monkeypatch: pytest.MonkeyPatch, numbers: int, rate: float, heads: int, as_sparse: bool
) -> None:
    case = a_case(0.1, heads, rate)
    monkeypatch.setattr(factored, "CHUNK_NUMBERS", numbers)
    assert_agrees(case, sparse(case.x) if as_sparse else case.x)


@pytest.mark.parametrize("form", ["DenseMessages", "_per_edge_chunks"])
def test_both_forms_for_dense_rows_agree(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """Alone, every node has one edge; the others have many, too many for one chunk."""
    case = a_case(1.0)
    other = "DenseMessages" if form == "_per_edge_chunks" else "_per_edge_chunks"
    if form == "_per_edge_chunks":
        case = case._replace(neighbors=case.neighbors.identity())
    monkeypatch.setattr(factored, "CHUNK_NUMBERS", 500)
    monkeypatch.delattr(factored, other)
    assert_agrees(case, case.x)


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_thinned_rows_agree(rate: float) -> None:
    case = a_case(0.15, rate=rate)
    rows = dispatch.dropout(sparse(case.x), 0.6, training=True)
    assert rows.is_thinned and 0 < rows.values.count_nonzero() < rows.values.numel()
    assert_agrees(case, rows)


def test_columns_that_come_twice_in_a_row_are_added() -> None:
    case = a_case(0.1, width=300)
    rows = sparse(case.x)
    again = rows.take(torch.arange(rows.num_rows))
    col, values = again.col.clone(), again.values
    begin = int(rows.crow[3])
    col[begin + 1] = col[begin]
    assert_agrees(case, replace(again, col=col, values=values))


def test_gradients_are_computed_only_where_they_are_wanted() -> None:
    case = a_case(0.1)
    for x in (sparse(case.x), case.x):
        every = output_and_gradients(case, x, factored.messages)[1:]
        values = (x.values if isinstance(x, SparseRows) else x).clone()
        leaves = [values, case.weight, *case.scale, *case.shift]
        for i, expected in enumerate(every):
            given = [leaf.clone().requires_grad_(i == j) for j, leaf in enumerate(leaves)]
            rows = x.with_values(given[0]) if isinstance(x, SparseRows) else given[0]
            pairs = (given[2], given[3]), (given[4], given[5])
            z = factored.messages(rows, given[1], *pairs, case.neighbors, None, 0.2)
            close(torch.autograd.grad(z.sin().sum(), given[i])[0], expected)


@pytest.mark.parametrize("as_sparse", [True, False])
def test_same_bits_on_repeats(as_sparse: bool) -> None:
    case = a_case(0.1)
    x = sparse(case.x) if as_sparse else case.x
    runs = [output_and_gradients(case, x, factored.messages) for _ in range(2)]
    assert all(map(torch.equal, *runs))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("as_sparse", [True, False])
def test_other_precisions_are_close(dtype: torch.dtype, as_sparse: bool) -> None:
    case = a_case(0.1)
    x = sparse(case.x) if as_sparse else case.x
    truth = output_and_gradients(case, x, reference.messages)
    narrow = MessageCase(
        case.x.to(dtype),
        case.weight.to(dtype),
        (case.scale[0].to(dtype), case.scale[1].to(dtype)),
        (case.shift[0].to(dtype), case.shift[1].to(dtype)),
        case.neighbors,
        None,
    )
    rows = x.with_values(x.values.to(dtype)) if isinstance(x, SparseRows) else narrow.x
    tolerance = 1e-4 if dtype == torch.float32 else 0.2
    for ours, expected in zip(
        output_and_gradients(narrow, rows, factored.messages), truth, strict=True
    ):
        assert ours.dtype == dtype
        assert (ours.double() - expected).norm() <= tolerance * expected.norm()


def test_pairs_are_kept_as_in_the_whole_mask() -> None:
    drop, nodes, columns = DropConnect(0.4, torch.tensor(5)), torch.arange(9), torch.arange(7)
    whole = keep_mask(drop, nodes, 3, 4, 7).bool()
    every = torch.cartesian_prod(nodes, columns)
    pairs = keep_pairs(drop, every[:, 0], every[:, 1], 3, 4)
    assert torch.equal(pairs.view(9, 7, 3, 4).permute(0, 2, 3, 1), whole)


class Sizes(TorchDispatchMode):
    """Remembers how many numbers the largest tensor had that any operation made."""

    largest = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        out = func(*args, **(kwargs or {}))
        for one in out if isinstance(out, tuple | list) else [out]:
            if isinstance(one, Tensor):
                self.largest = max(self.largest, one.numel())
        return out


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("as_sparse", [True, False])
def test_no_tensor_is_larger_than_a_chunk(
    monkeypatch: pytest.MonkeyPatch, as_sparse: bool, rate: float
) -> None:
    """Indices and masks included; inputs, outputs and their gradients are not chunks."""
    case, limit = a_case(0.17, heads=2, rate=rate), 2500
    x = sparse(case.x) if as_sparse else case.x
    monkeypatch.setattr(visits, "CACHED_VISITS", 0)
    monkeypatch.setattr(factored, "CHUNK_NUMBERS", limit)
    outputs = max(case.neighbors.num_edges * 8, case.x.numel())
    assert outputs <= limit < case.neighbors.num_edges * 30 / 3
    with Sizes() as sizes:
        output_and_gradients(case, x, factored.messages)
        factored.squares(case.scale, case.shift, 0.2)
    assert sizes.largest <= limit


def test_shapes_are_known_without_numbers() -> None:
    case = a_case(1.0)
    weight, x, *codes = (
        part.to("meta").requires_grad_() for part in (case.weight, case.x, *case.scale, *case.shift)
    )
    neighbors = Neighborhood(*(part.to("meta") for part in _parts(case.neighbors)), 40)
    for drop in (None, DropConnect(0.3, torch.tensor(1, device="meta"))):
        z = factored.messages(
            x, weight, (codes[0], codes[1]), (codes[2], codes[3]), neighbors, drop, 0.2
        )
        assert z.is_meta and z.shape == (300, 2, 4)
        assert [g.shape for g in torch.autograd.grad(z.sum(), [x, weight])] == [
            x.shape,
            weight.shape,
        ]


def _parts(neighbors: Neighborhood) -> tuple[Tensor, ...]:
    return neighbors.source, neighbors.target, neighbors.ptr, neighbors.edge_id


def test_dense_rows_compile_in_one_graph() -> None:
    case = a_case(1.0)

    def everything(x: Tensor, weight: Tensor, *codes: Tensor) -> Tensor:
        pairs = (codes[0], codes[1]), (codes[2], codes[3])
        z = factored.messages(x, weight, *pairs, case.neighbors, None, 0.2)
        a, b = factored.squares(*pairs, 0.2)
        sums = factored.sum_neighbors(x, None, case.neighbors)
        return z.sin().sum() + a + b + sums.sin().sum()

    leaves = [case.x, case.weight, *case.scale, *case.shift]
    leaves = [leaf.clone().requires_grad_() for leaf in leaves]
    found = []
    for call in (everything, torch.compile(everything, fullgraph=True, backend="aot_eager")):
        out = call(*leaves)
        found.append([out, *torch.autograd.grad(out, leaves)])
    for ours, expected in zip(*found, strict=True):
        close(ours, expected)


@pytest.mark.parametrize("numbers", [1, 100, 1 << 24])
@pytest.mark.parametrize("slope", [0.0, 0.2, 1.0, -0.5])
def test_squares_agree_under_any_slope(
    monkeypatch: pytest.MonkeyPatch, numbers: int, slope: float
) -> None:
    case = a_case(1.0, heads=3)
    monkeypatch.setattr(factored, "CHUNK_NUMBERS", numbers)
    leaves = [leaf.clone().requires_grad_() for leaf in (*case.scale, *case.shift)]
    found = []
    for form in (reference.squares, factored.squares):
        a, b = form((leaves[0], leaves[1]), (leaves[2], leaves[3]), slope)
        found.append([a, b, *torch.autograd.grad(0.3 * a + 0.7 * b, leaves)])
    for truth, ours in zip(*found, strict=True):
        close(ours, truth)


@pytest.mark.parametrize("weights", [None, "edges", "heads"])
def test_sums_over_neighbors_agree(weights: str | None) -> None:
    neighbors = a_case(1.0).neighbors
    shapes = {"edges": (300,), "heads": (300, 3)}
    x = torch.randn(40, 3, 5, dtype=torch.float64, requires_grad=True)
    weight = None
    if weights is not None:
        weight = torch.randn(shapes[weights], dtype=torch.float64, requires_grad=True)
    leaves = [x] if weight is None else [x, weight]
    found = []
    for form in (reference.sum_neighbors, factored.sum_neighbors):
        out = form(x, weight, neighbors)
        found.append([out, *torch.autograd.grad(out.sin().sum(), leaves)])
    for truth, ours in zip(*found, strict=True):
        close(ours, truth)


@pytest.mark.parametrize("density", [0.0, 0.1, 0.9])
def test_products_of_sparse_rows_agree(density: float) -> None:
    case = a_case(density)
    rows = sparse(case.x)
    values, weight = rows.values.clone().requires_grad_(), torch.randn(6, 30).double()
    weight.requires_grad_()
    found = []
    for form in (lambda x, w: reference.project(x.dense(), w), factored.project):
        out = form(rows.with_values(values), weight)
        found.append([out, *torch.autograd.grad(out.sin().sum(), [values, weight])])
    for truth, ours in zip(*found, strict=True):
        close(ours, truth)
