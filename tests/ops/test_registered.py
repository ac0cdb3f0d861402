"""Law 2: every kernel equals the reference in float64 to 1e-10, and so do its gradients."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from nodewise.ops import dispatch
from nodewise.ops.dropconnect import DropConnect
from nodewise.ops.neighbors import Neighborhood
from nodewise.ops.sparse import SparseRows
from tests.graphs import MessageCase, edge_lists, message_cases, sparse
from tests.ops.cases import FAST, TOLERANCE, a_case, gradients

many = settings(max_examples=250, deadline=None, derandomize=True)


@many
@given(message_cases())
def test_messages_agree_on_dense_rows(case: MessageCase) -> None:
    expected = gradients(case, case.x, "reference")
    for kernel in FAST:
        for ours, truth in zip(gradients(case, case.x, kernel), expected, strict=True):
            torch.testing.assert_close(ours, truth, rtol=TOLERANCE, atol=TOLERANCE)


@many
@given(message_cases())
def test_messages_agree_on_sparse_rows(case: MessageCase) -> None:
    rows = sparse(case.x)
    expected = gradients(case, rows, "reference")
    for kernel in FAST:
        for ours, truth in zip(gradients(case, rows, kernel), expected, strict=True):
            torch.testing.assert_close(ours, truth, rtol=TOLERANCE, atol=TOLERANCE)


@many
@given(message_cases())
def test_rows_through_their_own_weights_agree(case: MessageCase) -> None:
    alone = case._replace(neighbors=case.neighbors.identity(), drop=None)
    expected = gradients(alone, case.x, "reference")
    for rows in (case.x, sparse(case.x)):
        for ours, truth in zip(gradients(alone, rows, "fused"), expected, strict=True):
            if isinstance(rows, SparseRows) and truth.shape == case.x.shape != ours.shape:
                truth = truth[case.x != 0]
            torch.testing.assert_close(ours, truth, rtol=TOLERANCE, atol=TOLERANCE)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(edge_lists(), st.integers(1, 3), st.sampled_from([*range(1, 10), 32, 45]))
def test_edge_ops_and_sums_agree(graph: tuple[Tensor, int], heads: int, out: int) -> None:
    edge_index, nodes = graph
    neighbors = Neighborhood.from_edges(edge_index, nodes)
    torch.manual_seed(nodes)
    shapes = [(neighbors.num_edges, heads, out), *[(nodes, heads, out)] * 4]
    shapes += [(neighbors.num_edges,), (neighbors.num_edges, heads)]
    leaves = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    counts = torch.rand(neighbors.num_edges, dtype=torch.float64)

    def everything(kernel: str) -> list[Tensor]:
        z, a, b, c, d, weight, per_head = leaves
        with dispatch.use_kernel(kernel):
            out, *sums = dispatch.modulate_edges(z, (a, b), (c, d), neighbors)
            counted = dispatch.modulate_edges(z, (a, b), (c, d), neighbors, weight=counts)
            results = [
                *(out, *sums, *counted),
                dispatch.sum_edges(out, weight, neighbors),
                dispatch.sum_neighbors(a, weight, neighbors),
                dispatch.sum_neighbors(b, None, neighbors),
                dispatch.sum_edges(out, per_head, neighbors),
                dispatch.sum_neighbors(a, per_head, neighbors),
                dispatch.gather_sources(c, neighbors),
                dispatch.gather_targets(d, neighbors),
            ]
        return [*results, *torch.autograd.grad(sum(r.sin().sum() for r in results), leaves)]

    for kernel in FAST:
        for ours, truth in zip(everything(kernel), everything("reference"), strict=True):
            torch.testing.assert_close(ours, truth, rtol=TOLERANCE, atol=TOLERANCE)


@given(message_cases())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_sparse_products_agree(case: MessageCase) -> None:
    def both(kernel: str) -> list[Tensor]:
        values = sparse(case.x).values.clone().requires_grad_()
        weight = case.weight.flatten(0, 1).clone().requires_grad_()
        with dispatch.use_kernel(kernel):
            out = dispatch.project(sparse(case.x).with_values(values), weight)
        return [out, *torch.autograd.grad(out.sin().sum(), [values, weight])]

    for ours, truth in zip(both("fused"), both("reference"), strict=True):
        torch.testing.assert_close(ours, truth, rtol=TOLERANCE, atol=TOLERANCE)


@given(message_cases(), st.booleans())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_sums_of_sparse_rows_agree(case: MessageCase, weighted: bool) -> None:
    torch.manual_seed(0)
    draw = torch.randn(case.neighbors.num_edges, dtype=torch.float64) if weighted else None

    def everything(kernel: str) -> list[Tensor]:
        values = sparse(case.x).values.clone().requires_grad_()
        weight = None if draw is None else draw.clone().requires_grad_()
        with dispatch.use_kernel(kernel):
            rows = sparse(case.x).with_values(values)
            out = dispatch.pool_rows(rows, weight, case.neighbors)
        out = out.dense() if isinstance(out, SparseRows) else out
        leaves = [values] if weight is None else [values, weight]
        return [out, *torch.autograd.grad(out.sin().sum(), leaves)]

    for ours, truth in zip(everything("fused"), everything("reference"), strict=True):
        torch.testing.assert_close(ours, truth, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("heads", [1, 5, 8])
@pytest.mark.parametrize(("targets", "edges"), [(0, 0), (1, 0), (1, 3)])
def test_messages_agree_where_nodes_have_no_edges(heads: int, targets: int, edges: int) -> None:
    torch.manual_seed(3)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64)

    neighbors = Neighborhood.from_edges(torch.zeros(2, edges, dtype=torch.int64), targets, 3)
    scale, shift = ((normal(targets, heads, 1), normal(heads, 4, 1)) for _ in range(2))
    case = MessageCase(normal(3, 4), normal(heads, 3, 4), scale, shift, neighbors, None)
    expected = gradients(case, case.x, "reference")
    for kernel in FAST:
        for ours, truth in zip(gradients(case, case.x, kernel), expected, strict=True):
            torch.testing.assert_close(ours, truth, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("heads", [1, 8])
@pytest.mark.parametrize("is_thinned", [False, True])
def test_crowded_rows_agree_without_their_gradient(heads: int, is_thinned: bool) -> None:
    case = a_case(0.0, heads=heads)
    rows = replace(sparse(case.x), is_thinned=is_thinned)
    assert rows.is_crowded
    found = []
    for kernel in ("reference", "fused"):
        leaves = [leaf.clone().requires_grad_() for leaf in (case.weight, *case.scale, *case.shift)]
        with dispatch.use_kernel(kernel):
            z = dispatch.messages(rows, leaves[0], leaves[1:3], leaves[3:], case.neighbors)  # type: ignore[arg-type]
        found.append([z, *torch.autograd.grad(z.sin().sum(), leaves)])
    for truth, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, truth, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.medium
@pytest.mark.parametrize("kernel", dispatch.KERNELS)
@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("heads", [2, 8])
def test_gradcheck_of_messages(kernel: str, rate: float, as_sparse: bool, heads: int) -> None:
    case = a_case(rate, heads=heads)
    rows = sparse(case.x * (case.x > 0))
    values = rows.values if as_sparse else case.x

    def function(values: Tensor, weight: Tensor, *codes: Tensor) -> tuple[Tensor, ...]:
        x = rows.with_values(values) if as_sparse else values
        with dispatch.use_kernel(kernel):
            z = dispatch.messages(x, weight, codes[:2], codes[2:], case.neighbors, case.drop)
            return z, *dispatch.squares(codes[:2], codes[2:])

    leaves = [values, case.weight, *case.scale, *case.shift]
    assert gradcheck(function, [leaf.clone().requires_grad_() for leaf in leaves])


@pytest.mark.parametrize("kernel", dispatch.KERNELS)
def test_gradcheck_of_edges_and_sums(kernel: str) -> None:
    neighbors = a_case(0.0).neighbors
    shapes = [(7, 2, 3), *[(5, 2, 3)] * 4, (7,), (7, 2)]
    leaves = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]

    def function(z: Tensor, *rest: Tensor) -> list[Tensor]:
        a, b, c, d, w, per_head = rest
        with dispatch.use_kernel(kernel):
            out, *sums = dispatch.modulate_edges(z, (a, b), (c, d), neighbors)
            total = dispatch.sum_edges(out, w, neighbors)
            summed = [dispatch.sum_neighbors(a, weight, neighbors) for weight in (w, per_head)]
            plain = [
                dispatch.sum_edges(out, None, neighbors),
                dispatch.sum_neighbors(b, None, neighbors),
            ]
            gathered = [
                dispatch.gather_sources(c, neighbors),
                dispatch.gather_targets(d, neighbors),
            ]
            weighted = [total, *summed, dispatch.sum_edges(out, per_head, neighbors)]
            return [out, *sums, *weighted, *plain, *gathered]

    assert gradcheck(function, leaves)


@pytest.mark.parametrize("kernel", dispatch.KERNELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradcheck_of_sparse_rows(kernel: str, weighted: bool) -> None:
    case = a_case(0.0)
    rows, neighbors = sparse(case.x * (case.x > 0)), case.neighbors
    on_edges = torch.randn(neighbors.num_edges, dtype=torch.float64)
    leaves = [rows.values, case.weight.flatten(0, 1), *([on_edges] if weighted else [])]

    def function(values: Tensor, flat: Tensor, *on_edges: Tensor) -> list[Tensor]:
        with dispatch.use_kernel(kernel):
            x = rows.with_values(values)
            pooled = dispatch.pool_rows(x, on_edges[0] if on_edges else None, neighbors)
            product = dispatch.project(x, flat)
        return [pooled.values if isinstance(pooled, SparseRows) else pooled, product]

    assert gradcheck(function, [leaf.clone().requires_grad_() for leaf in leaves])


@pytest.mark.parametrize("kernel", dispatch.KERNELS)
def test_gradcheck_of_dropout(kernel: str) -> None:
    x, seed = torch.randn(7, 5, dtype=torch.float64, requires_grad=True), torch.tensor(3)

    def function(x: Tensor) -> Tensor:
        with dispatch.use_kernel(kernel):
            return dispatch._dropout(x, DropConnect(0.4, seed))

    assert 0 < function(x).count_nonzero() < x.numel()
    assert gradcheck(function, x)


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("heads", [2, 8])
def test_opcheck_of_messages(as_sparse: bool, heads: int) -> None:
    case = a_case(0.3, heads=heads)
    rows = sparse(case.x * (case.x > 0))
    features = (rows.crow, rows.col, rows.values) if as_sparse else (None, None, case.x)
    first, *leaves = (
        leaf.clone().requires_grad_()
        for leaf in (features[2], case.weight, *case.scale, *case.shift)
    )
    args = (*features[:2], first, *leaves)
    neighbors = (case.neighbors.source, case.neighbors.ptr)
    torch.library.opcheck(
        torch.ops.nodewise.messages, (*args, *neighbors, torch.tensor(3), 0.3, 0.2, False)
    )
    result = torch.library.opcheck(
        torch.ops.nodewise.messages, (*args, *neighbors, None, 0.0, 0.2, True)
    )
    assert set(result.values()) == {"SUCCESS"}


@pytest.mark.parametrize("gradient", [False, True])
def test_opcheck_of_squares(gradient: bool) -> None:
    case = a_case(0.0)
    leaves = [leaf.clone().requires_grad_(gradient) for leaf in (*case.scale, *case.shift)]
    result = torch.library.opcheck(torch.ops.nodewise.squares, (*leaves, 0.2, gradient))
    assert set(result.values()) == {"SUCCESS"}


def test_opcheck_of_edges_and_sums() -> None:
    neighbors = a_case(0.0).neighbors
    back = neighbors.reverse
    z, *ends = (
        torch.randn(n, 2, 3, dtype=torch.float64, requires_grad=True) for n in (7, 5, 5, 5, 5)
    )
    ops = torch.ops.nodewise
    way_back = (back.ptr, back.edge_id)
    runs = (neighbors.source, neighbors.ptr, back.source, back.edge_id, back.ptr)
    per_head = torch.randn(7, 2, dtype=torch.float64, requires_grad=True)
    results = [
        torch.library.opcheck(
            ops.modulate_edges, (z, *ends, neighbors.source, neighbors.ptr, *way_back, None, 0.2)
        ),
        torch.library.opcheck(
            ops.modulate_edges,
            (z, *ends, neighbors.source, neighbors.ptr, *way_back, torch.rand(7).double(), 0.2),
        ),
        torch.library.opcheck(ops.sum_runs, (ends[0], None, *runs)),
        torch.library.opcheck(ops.sum_runs, (ends[0], per_head, *runs)),
    ]
    rows, weight = sparse(z.detach()[:, 0]), torch.randn(3, 4, dtype=torch.float64)
    values = rows.values.clone().requires_grad_()  # a view of a CSR tensor cannot be traced
    way_back = (rows.columns.row, rows.columns.entry, rows.columns.ccol)
    args = (weight.requires_grad_(), values, rows.col.clone(), rows.crow.clone(), *way_back)
    results.append(torch.library.opcheck(ops.sum_runs, args))
    args = (torch.randn(3, 5).double().requires_grad_(), torch.tensor(7), 0.4)
    results.append(torch.library.opcheck(ops.dropout, args))
    assert all(set(result.values()) == {"SUCCESS"} for result in results)


@pytest.mark.parametrize("kernel", dispatch.KERNELS)
def test_sums_over_no_edges_have_a_gradient(kernel: str) -> None:
    neighbors = Neighborhood.from_edges(torch.zeros(2, 0, dtype=torch.int64), 3)
    x = torch.randn(3, 2, requires_grad=True)
    with dispatch.use_kernel(kernel):
        out = dispatch.sum_neighbors(x, None, neighbors)
    assert torch.equal(torch.autograd.grad(out.sum(), x)[0], torch.zeros(3, 2))
