"""Work cut into chunks, on one thread and on several: the reference's numbers, the same bits."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from nodewise.models.classifier import LGAT
from nodewise.nn.penalty import Penalty
from nodewise.ops import dispatch
from nodewise.ops.dropconnect import DropConnect
from nodewise.ops.fused import launch, threads
from nodewise.ops.sparse import SparseRows
from tests.graphs import sparse
from tests.ops.fused.graphs import EDGES, SOURCES, TARGETS, WIDTH, a_graph

# Of five heads, four go together and one alone; sixteen are twice eight lanes.
HEADS = [5, 16]
Everything = dict[str, list[Tensor]]


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


@pytest.mark.parametrize("kernel", ["factored", "fused"])
@pytest.mark.parametrize("heads", HEADS)
def test_chunks_add_up_to_the_reference(kernel: str, heads: int) -> None:
    assert threads.chunks_for(TARGETS) > 2 and threads.chunks_for(TARGETS, 1) > 2
    truth = everything("reference", heads)
    for name, found in everything(kernel, heads).items():
        for ours, expected in zip(found, truth[name], strict=True):
            torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-10, msg=name)


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
