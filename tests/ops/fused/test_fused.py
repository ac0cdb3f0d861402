"""Work cut into chunks, on one thread and on several: the reference's numbers, the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from nodewise.models.classifier import LGAT
from nodewise.nn.penalty import Penalty
from nodewise.ops import dispatch
from nodewise.ops.dropconnect import DropConnect
from nodewise.ops.fused import launch, threads
from nodewise.ops.neighbors import Neighborhood
from nodewise.ops.sparse import SparseRows
from tests.graphs import sparse
from tests.ops.fused.graphs import EDGES, SOURCES, TARGETS, WIDTH, a_graph

# Of five heads, four go together and one alone; sixteen are twice eight lanes.
HEADS = [5, 16]
Everything = dict[str, list[Tensor]]
Jobs = dict[str, tuple[Callable[[], Tensor | tuple[Tensor, ...]], tuple[Tensor, ...]]]


class Inputs(NamedTuple):
    """What the operations are applied to; all but the graph and the drop need gradients."""

    neighbors: Neighborhood
    drop: DropConnect
    x: Tensor
    rows: SparseRows
    values: Tensor
    target_rows: Tensor
    sparse_target_rows: SparseRows
    target_values: Tensor
    weight: Tensor
    scale: tuple[Tensor, Tensor]
    shift: tuple[Tensor, Tensor]
    ends: list[Tensor]
    z: Tensor
    of_sources: Tensor
    flat: Tensor
    on_edges: Tensor
    per_head: Tensor

    @property
    def sparse_x(self) -> SparseRows:
        return self.rows.with_values(self.values)

    @property
    def sparse_targets(self) -> SparseRows:
        return self.sparse_target_rows.with_values(self.target_values)

    @property
    def generators(self) -> tuple[Tensor, ...]:
        return (self.weight, *self.scale, *self.shift)


def _inputs(heads: int, dtype: torch.dtype) -> Inputs:
    """The same numbers at every call."""
    torch.manual_seed(1)
    out, narrow = 9, 4

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64).to(dtype).requires_grad_()

    def sparse_rows(x: Tensor, density: float) -> SparseRows:
        return sparse(x.detach() * (torch.rand(*x.shape) < density))

    rows, target_rows = sparse_rows(normal(SOURCES, WIDTH), 0.1), normal(TARGETS, WIDTH)
    sparse_target_rows = sparse_rows(target_rows, 0.4)
    return Inputs(
        neighbors=a_graph(),
        drop=DropConnect(0.3, torch.tensor(7)),
        x=rows.dense().clone().requires_grad_(),
        rows=rows,
        values=rows.values.clone().requires_grad_(),
        target_rows=target_rows,
        sparse_target_rows=sparse_target_rows,
        target_values=sparse_target_rows.values.clone().requires_grad_(),
        weight=normal(heads, out, WIDTH),
        scale=(normal(TARGETS, heads, narrow), normal(heads, WIDTH, narrow)),
        shift=(normal(TARGETS, heads, narrow), normal(heads, WIDTH, narrow)),
        ends=[normal(n, heads, out) for n in (TARGETS, SOURCES, TARGETS, SOURCES)],
        z=normal(EDGES, heads, out),
        of_sources=normal(SOURCES, heads, out),
        flat=normal(12, WIDTH),
        on_edges=normal(EDGES),
        per_head=normal(EDGES, heads),
    )


def _message_jobs(at: Inputs) -> Jobs:
    """Messages and what they are made of, each with the tensors that get gradients."""

    def messages(
        x: Tensor | SparseRows, neighbors: Neighborhood, drop: DropConnect | None = None
    ) -> Tensor:
        return dispatch.messages(x, at.weight, at.scale, at.shift, neighbors, drop)

    each = at.neighbors.identity()
    return {
        "messages": (lambda: messages(at.x, at.neighbors, at.drop), (at.x, *at.generators)),
        "messages, nothing dropped": (
            lambda: messages(at.x, at.neighbors),
            (at.x, *at.generators),
        ),
        "messages, sparse": (
            lambda: messages(at.sparse_x, at.neighbors),
            (at.values, *at.generators),
        ),
        "messages, each to itself": (
            lambda: messages(at.target_rows, each),
            (at.target_rows, *at.generators),
        ),
        "messages, each to itself, sparse": (
            lambda: messages(at.sparse_targets, each),
            (at.target_values, *at.generators),
        ),
        "dropout": (lambda: dispatch._dropout(at.z, at.drop), (at.z,)),
        "squares": (lambda: dispatch.squares(at.scale, at.shift), (*at.scale, *at.shift)),
        "project": (lambda: dispatch.project(at.sparse_x, at.flat), (at.values, at.flat)),
    }


def _edge_jobs(at: Inputs) -> Jobs:
    """Sums over edges, and rows of edges, each with the tensors that get gradients."""
    z, ends, neighbors = at.z, at.ends, at.neighbors
    return {
        "modulate_edges": (
            lambda: dispatch.modulate_edges(z, (ends[0], ends[1]), (ends[2], ends[3]), neighbors),
            (z, *ends),
        ),
        "sum_neighbors": (
            lambda: dispatch.sum_neighbors(at.of_sources, at.per_head, neighbors),
            (at.of_sources, at.per_head),
        ),
        "sum_edges": (lambda: dispatch.sum_edges(z, at.on_edges, neighbors), (z, at.on_edges)),
        "sum_edges, all alike": (lambda: dispatch.sum_edges(z, None, neighbors), (z,)),
        "gather_sources": (
            lambda: dispatch.gather_sources(at.of_sources, neighbors),
            (at.of_sources,),
        ),
        "gather_targets": (lambda: dispatch.gather_targets(ends[0], neighbors), (ends[0],)),
        "pool_rows": (
            lambda: dispatch.pool_rows(at.sparse_x, at.on_edges, neighbors),
            (at.values, at.on_edges),
        ),
        "pool_rows, all alike": (
            lambda: dispatch.pool_rows(at.sparse_x, None, neighbors),
            (at.values,),
        ),
    }


def everything(kernel: str, heads: int, dtype: torch.dtype = torch.float64) -> Everything:
    """Outputs and gradients of every operation, by its name."""
    inputs, found = _inputs(heads, dtype), {}
    with dispatch.use_kernel(kernel):
        for name, (job, leaves) in {**_message_jobs(inputs), **_edge_jobs(inputs)}.items():
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
