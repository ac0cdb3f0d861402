"""Messages of rows that are unusual: crowded, long, or lying apart in memory."""

from __future__ import annotations

import pytest
import torch

from nodewise.ops import dispatch, reference
from nodewise.ops.dropconnect import DropConnect
from nodewise.ops.neighbors import Neighborhood
from nodewise.ops.sparse import SparseRows
from tests.graphs import sparse
from tests.ops.fused.graphs import SOURCES, TARGETS, WIDTH, a_graph


@pytest.mark.parametrize("out", [3, 11])
def test_rows_with_more_entries_than_columns_go_through_their_own_weights(out: int) -> None:
    """A matrix in which columns come twice, as nobody should write it, but somebody may."""
    torch.manual_seed(4)
    nodes, width, entries = 20, 4, 203
    crow = torch.arange(nodes + 1, dtype=torch.int32) * entries
    col = torch.randint(0, width, (nodes * entries,), dtype=torch.int32)
    shapes = [(1, out, width), (nodes, 1, 8), (1, width, 8), (nodes, 1, 8), (1, width, 8)]
    shapes = [(nodes * entries,), *shapes]
    leaves = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    values, weight, *codes = leaves
    rows = SparseRows(crow, col, values, width)
    neighbors = Neighborhood.from_edges(torch.zeros(2, 0, dtype=torch.int64), nodes).identity()
    given = (weight, (codes[0], codes[1]), (codes[2], codes[3]), neighbors)
    truth = reference.messages(rows.dense(), *given, None, 0.2)
    found = [
        [z, *torch.autograd.grad(z.sin().sum(), leaves)]
        for z in (truth, dispatch.messages(rows, *given))
    ]
    for expected, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("col", [torch.int32, torch.int64])
@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_a_row_far_longer_than_there_are_columns_agrees(rate: float, col: torch.dtype) -> None:
    """Rows of sources that are not targets, and columns of 32 and 64 bits."""
    torch.manual_seed(5)
    width, targets, long = 30, 4, 5_000
    others = sparse(torch.randn(2000, width).double() * (torch.rand(2000, width) < 0.05))
    columns = torch.cat([torch.arange(long) % width, others.col]).to(col)
    values = torch.cat([torch.randn(long, dtype=torch.float64) / 100, others.values])
    crow = torch.cat([torch.zeros(1, dtype=torch.int32), others.crow + long])
    rows = SparseRows(crow, columns.repeat_interleave(2)[::2], values, width)
    assert not rows.is_crowded
    edge_index = torch.tensor([[0, 0, 1, 2000, 7, 1999], [0, 3, 0, 1, 3, 3]])
    neighbors = Neighborhood.from_edges(edge_index, targets, 2001)
    shapes = [(8, 8, width), (targets, 8, 8), (8, width, 8), (targets, 8, 8), (8, width, 8)]
    leaves = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    weight, *codes = leaves
    drop = DropConnect(rate, torch.tensor(7)) if rate else None
    given = (weight, (codes[0], codes[1]), (codes[2], codes[3]), neighbors, drop)
    truth = reference.messages(rows.dense(), *given, 0.2)
    found = [
        [z, *torch.autograd.grad(z.sin().sum(), leaves)]
        for z in (truth, dispatch.messages(rows, *given))
    ]
    for expected, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("what", ["col", "values", "crow"])
@pytest.mark.parametrize("thinned", [True, False])
def test_arrays_of_rows_may_have_gaps(what: str, thinned: bool) -> None:
    """A column of a table, say, of which kernels would read what lies beside it."""
    torch.manual_seed(6)
    rows, neighbors = (
        sparse(torch.randn(SOURCES, WIDTH) * (torch.rand(SOURCES, WIDTH) < 0.1)),
        a_graph(),
    )
    parts = {"crow": rows.crow, "col": rows.col, "values": rows.values.double()}
    parts[what] = torch.stack([parts[what], torch.full_like(parts[what], 7)], 1)[:, 0]
    given = SparseRows(**parts, width=WIDTH, is_thinned=thinned)
    shapes = [(8, 8, WIDTH), (TARGETS, 8, 8), (8, WIDTH, 8), (TARGETS, 8, 8), (8, WIDTH, 8)]
    weight, *codes = (torch.randn(*shape, dtype=torch.float64) for shape in shapes)
    found = []
    for kernel in ("reference", "fused"):
        with dispatch.use_kernel(kernel):
            pairs = (codes[0], codes[1]), (codes[2], codes[3])
            sums = dispatch.pool_rows(given, None, neighbors)
            dense = sums.dense() if isinstance(sums, SparseRows) else sums
            found.append((dispatch.messages(given, weight, *pairs, neighbors), dense))
    for ours, expected in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-10)
