"""Work cut into chunks, on one thread and on several: the reference's numbers, the same bits."""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
import pytest
import torch
from torch import Tensor

from nodewise.models.classifier import LGAT
from nodewise.nn.penalty import Penalty
from nodewise.ops import dispatch, reference
from nodewise.ops.dropconnect import DropConnect
from nodewise.ops.fused import launch, threads
from nodewise.ops.fused.simd import get, views
from nodewise.ops.neighbors import Neighborhood
from nodewise.ops.sparse import SparseRows
from tests.graphs import sparse

SOURCES, TARGETS, EDGES, WIDTH = 170, 150, 900, 30
# Of five heads, four go together and one alone; sixteen are twice eight lanes.
HEADS = [5, 16]
Everything = dict[str, list[Tensor]]


def a_graph() -> Neighborhood:
    """Sources that are no targets, more chunks than threads, and a target with many sources."""
    draw = torch.Generator().manual_seed(0)
    source = torch.randint(0, SOURCES, (EDGES,), generator=draw)
    target = torch.randint(0, TARGETS, (EDGES,), generator=draw)
    target[: EDGES // 5] = 3
    return Neighborhood.from_edges(torch.stack([source, target]), TARGETS, SOURCES)


def everything(kernel: str, heads: int, dtype: torch.dtype = torch.float64) -> Everything:
    """Outputs and gradients of every operation, by its name."""
    torch.manual_seed(1)
    neighbors, out, narrow = a_graph(), 9, 4

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64).to(dtype).requires_grad_()

    dense = normal(SOURCES, WIDTH).detach() * (torch.rand(SOURCES, WIDTH) < 0.1)
    rows = sparse(dense)
    values, x = rows.values.clone().requires_grad_(), dense.clone().requires_grad_()
    weight = normal(heads, out, WIDTH)
    scale = (normal(TARGETS, heads, narrow), normal(heads, WIDTH, narrow))
    shift = (normal(TARGETS, heads, narrow), normal(heads, WIDTH, narrow))
    generators = (weight, *scale, *shift)
    ends = [normal(n, heads, out) for n in (TARGETS, SOURCES, TARGETS, SOURCES)]
    z, flat, on_edges, per_head = (
        normal(EDGES, heads, out),
        normal(12, WIDTH),
        normal(EDGES),
        normal(EDGES, heads),
    )
    target_rows = normal(TARGETS, WIDTH)
    sparse_target_rows = sparse(target_rows.detach() * (torch.rand(TARGETS, WIDTH) < 0.4))
    target_values = sparse_target_rows.values.clone().requires_grad_()
    of_sources, drop = normal(SOURCES, heads, out), DropConnect(0.3, torch.tensor(7))

    def sparse_x() -> SparseRows:
        return rows.with_values(values)

    def pooled(weights: Tensor | None) -> Tensor:
        found = dispatch.pool_rows(sparse_x(), weights, neighbors)
        return found.dense() if isinstance(found, SparseRows) else found

    jobs: dict[str, tuple[Callable[[], Tensor | tuple[Tensor, ...]], tuple[Tensor, ...]]] = {
        "messages": (
            lambda: dispatch.messages(x, weight, scale, shift, neighbors, drop),
            (x, *generators),
        ),
        "messages, nothing dropped": (
            lambda: dispatch.messages(x, weight, scale, shift, neighbors),
            (x, *generators),
        ),
        "messages, sparse": (
            lambda: dispatch.messages(sparse_x(), weight, scale, shift, neighbors),
            (values, *generators),
        ),
        "messages, each to itself": (
            lambda: dispatch.messages(target_rows, weight, scale, shift, neighbors.identity()),
            (target_rows, *generators),
        ),
        "messages, each to itself, sparse": (
            lambda: dispatch.messages(
                sparse_target_rows.with_values(target_values),
                weight,
                scale,
                shift,
                neighbors.identity(),
            ),
            (target_values, *generators),
        ),
        "dropout": (lambda: dispatch._dropout(z, drop), (z,)),
        "squares": (lambda: dispatch.squares(scale, shift), (*scale, *shift)),
        "modulate_edges": (
            lambda: dispatch.modulate_edges(z, (ends[0], ends[1]), (ends[2], ends[3]), neighbors),
            (z, *ends),
        ),
        "sum_neighbors": (
            lambda: dispatch.sum_neighbors(of_sources, per_head, neighbors),
            (of_sources, per_head),
        ),
        "sum_edges": (lambda: dispatch.sum_edges(z, on_edges, neighbors), (z, on_edges)),
        "sum_edges, all alike": (lambda: dispatch.sum_edges(z, None, neighbors), (z,)),
        "gather_sources": (lambda: dispatch.gather_sources(of_sources, neighbors), (of_sources,)),
        "gather_targets": (lambda: dispatch.gather_targets(ends[0], neighbors), (ends[0],)),
        "pool_rows": (lambda: pooled(on_edges), (values, on_edges)),
        "pool_rows, all alike": (lambda: pooled(None), (values,)),
        "project": (lambda: dispatch.project(sparse_x(), flat), (values, flat)),
    }
    found = {}
    with dispatch.use_kernel(kernel):
        for name, (job, leaves) in jobs.items():
            given = job()
            outputs = list(given) if isinstance(given, tuple) else [given]
            pull = sum((one.sin() if one.dim() else 0.1 * one).sum() for one in outputs)
            found[name] = [*outputs, *torch.autograd.grad(pull, leaves)]  # type: ignore[list-item]
    return found


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
    """Rows of sources that are no targets, and columns of 32 and 64 bits."""
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


def test_kernels_refuse_arrays_whose_strides_they_would_not_look_at() -> None:
    second = numba.njit(lambda array: get(views(array), 1))
    assert second(np.arange(6.0)) == 1
    with pytest.raises(TypeError, match="without gaps"):
        second(np.arange(6.0)[::2])


@pytest.mark.parametrize("kernel", ["factored", "fused"])
@pytest.mark.parametrize("heads", HEADS)
def test_chunks_add_up_to_the_reference(kernel: str, heads: int) -> None:
    assert threads.chunks_for(TARGETS) > 2 and threads.chunks_for(TARGETS, 1) > 2
    truth = everything("reference", heads)
    for name, found in everything(kernel, heads).items():
        for ours, expected in zip(found, truth[name], strict=True):
            torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-10, msg=name)


@pytest.mark.parametrize(("narrow", "width"), [(9, 700), (8, 391), (16, 700)])
def test_squares_of_several_panels_add_up_to_the_reference(
    monkeypatch: pytest.MonkeyPatch, narrow: int, width: int
) -> None:
    torch.manual_seed(2)
    monkeypatch.setattr(launch, "_PANEL", 1024)
    assert launch.panel_width(width, narrow) < width / 2
    shapes = [(TARGETS, 3, narrow), (3, width, narrow)] * 2
    leaves = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    found = []
    for kernel in ("reference", "fused"):
        with dispatch.use_kernel(kernel):
            a, b = dispatch.squares((leaves[0], leaves[1]), (leaves[2], leaves[3]))
        found.append([a, b, *torch.autograd.grad(0.3 * a + 0.7 * b, leaves)])
    for truth, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, truth, rtol=1e-10, atol=1e-10)


def test_squares_in_single_precision_below_zero_are_close_under_small_slopes() -> None:
    code, expand = -torch.rand(20, 1, 8) - 0.1, torch.rand(1, 40, 8) + 0.1
    leaves = [part.requires_grad_() for part in (code, expand)]
    exact = [leaf.detach().double().requires_grad_() for leaf in leaves]
    found = []
    for pair in (leaves, exact):
        a, b = dispatch.squares((pair[0], pair[1]), (pair[0], pair[1]), 0.001)
        found.append([a, *torch.autograd.grad(a + b, pair)])
    for ours, truth in zip(*found, strict=True):
        torch.testing.assert_close(ours.double(), truth, rtol=1e-5, atol=0)


@pytest.mark.parametrize("slope", [0.0, 0.01, 0.2, 1.0, 1.5, -0.5, -2.0])
def test_squares_agree_under_any_slope(slope: float) -> None:
    torch.manual_seed(3)
    shapes = [(TARGETS, 3, 8), (3, 40, 8)] * 2
    leaves = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    pairs = (leaves[0], leaves[1]), (leaves[2], leaves[3])
    found = []
    for kernel in ("reference", "fused"):
        with dispatch.use_kernel(kernel):
            a, b = dispatch.squares(*pairs, slope)
            with torch.no_grad():
                alone = dispatch.squares(*pairs, slope)
        found.append([a, b, *alone, *torch.autograd.grad(0.3 * a + 0.7 * b, leaves)])
    for truth, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, truth, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("heads", HEADS)
def test_single_precision_is_close_in_every_operation(heads: int) -> None:
    truth = everything("fused", heads)
    for name, found in everything("fused", heads, torch.float32).items():
        for ours, expected in zip(found, truth[name], strict=True):
            distance = (ours.double() - expected).norm() / expected.norm().clamp(min=1e-12)
            assert ours.dtype == torch.float32 and distance < 1e-4, name


@pytest.fixture
def several_threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every kernel on as many threads as torch has; a list of how many it was, call by call."""
    used: list[int] = []
    asked = threads.threads_for

    def fixed_threads(chunks: int, work: int) -> int:
        used.append(asked(chunks, work))
        return used[-1]

    monkeypatch.setattr(threads, "WORTH_A_THREAD", 0)
    monkeypatch.setattr(threads, "threads_for", fixed_threads)
    monkeypatch.setattr(launch, "threads_for", fixed_threads)
    return used


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("heads", HEADS)
def test_same_bits_on_any_number_of_threads_and_on_repeats(
    several_threads: list[int], heads: int, dtype: torch.dtype
) -> None:
    before, runs = torch.get_num_threads(), []
    for count in (1, 2, 2, 3):
        torch.set_num_threads(count)
        runs.append(everything("fused", heads, dtype))
        assert max(several_threads) == count
        several_threads.clear()
    torch.set_num_threads(before)
    for run in runs[1:]:
        for name, found in run.items():
            assert all(map(torch.equal, found, runs[0][name])), name


def test_penalties_have_the_same_bits_on_any_number_of_threads() -> None:
    before = torch.get_num_threads()
    for seed in range(6):
        torch.manual_seed(seed)
        model, found = LGAT(1433, 8, 7), []
        for count in (1, 2):
            torch.set_num_threads(count)
            weights = (model.global_parameters(), model.local_parameters())
            found.append(torch.stack(Penalty()(*weights, ())[:2]))  # type: ignore[arg-type]
        torch.set_num_threads(before)
        assert torch.equal(*found)
