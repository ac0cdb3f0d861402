"""`nodewise bench messages`: layer 1's localized messages, ours against the per-edge form.

Timed on both sides, on the same inputs: generators, messages, penalty sums, forward and backward,
gradients of all weights and of the features, warm, full graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from nodewise.bench.memory import extra_peak_mb
from nodewise.bench.operations import count_columns
from nodewise.bench.timing import bytes_per_second, multiply_adds_per_second, side_by_side
from nodewise.data.datasets import load_dataset
from nodewise.nn.block import Block, BlockRule, build_block
from nodewise.ops.dispatch import SLOPE, messages, project, squares, sum_neighbors, use_kernel
from nodewise.ops.sparse import SparseRows

BOTTLENECK = OUT = 8
# The reference builds W_v for every edge, and is measured where that takes less than this.
_REFERENCE_BYTES = 2 << 30
# Repeats of calls that take milliseconds, which other processes of the machine disturb most.
_OF_SHORT = 25


def unit_rows(x: Tensor) -> Tensor:
    """Rows that sum to one; rows without features stay zero."""
    return x / x.sum(1, keepdim=True).clamp(min=1e-12)


@dataclass(frozen=True)
class Problem:
    """One layer on one graph: features both ways, edges, and weights for some heads.

    `gradient` is that of the loss with respect to all messages.
    """

    rows: SparseRows
    x: Tensor
    edge_index: Tensor
    block: Block
    weights: dict[str, Tensor]
    gradient: Tensor
    heads: int

    @classmethod
    def of(cls, dataset: str, heads: int, root: str | Path | None = None) -> Problem:
        """Load a data set, rows summing to one, and draw weights."""
        data = load_dataset(dataset, root)
        x = unit_rows(data.x)
        nodes, width = x.shape
        block = build_block(
            data.edge_index, None, nodes, nodes, BlockRule("set", "mean"), torch.float32
        )
        make = torch.Generator().manual_seed(0)
        shapes = {
            "weight": (heads, OUT, width),
            "reduce": (2, heads, BOTTLENECK, width),
            "scale_expand": (heads, width, BOTTLENECK),
            "shift_expand": (heads, width, BOTTLENECK),
        }
        weights = {
            name: (0.3 * torch.randn(shape, generator=make)).requires_grad_()
            for name, shape in shapes.items()
        }
        gradient = torch.ones(block.neighbors.num_edges, heads, OUT)
        rows = SparseRows.from_dense(x)
        return cls(rows, x, data.edge_index, block, weights, gradient, heads)

    def leaves(self, values: Tensor | None) -> list[Tensor]:
        """The tensors that gradients are computed for."""
        return [*self.weights.values(), *([] if values is None else [values])]


def _codes(problem: Problem, x: Any) -> tuple[Tensor, Tensor]:
    reduced = project(x, problem.weights["reduce"].flatten(0, 2))
    codes = sum_neighbors(reduced, problem.block.coefficient, problem.block.neighbors)
    scale, shift = codes.view(-1, 2, problem.heads, BOTTLENECK).unbind(1)
    return scale.contiguous(), shift.contiguous()  # as a layer has them


def localized(problem: Problem, kernel: str, *, features: bool, backward: bool = True) -> None:
    """One pass of ours, on sparse rows."""
    values = problem.rows.values.detach().requires_grad_(features)
    x, weights = problem.rows.with_values(values), problem.weights
    with use_kernel(kernel):
        scale, shift = _codes(problem, x)
        pairs = (scale, weights["scale_expand"]), (shift, weights["shift_expand"])
        z = messages(x, weights["weight"], *pairs, problem.block.neighbors)
        a, b = squares(*pairs)
        if backward:
            leaves = problem.leaves(values if features else None)
            torch.autograd.grad([z, a, b], leaves, [problem.gradient, a.detach(), b.detach()])


def penalty(problem: Problem, scale: Tensor, shift: Tensor) -> None:
    """The sums of squares of all scales and shifts, and their gradients, from codes made before."""
    expands = (problem.weights["scale_expand"], problem.weights["shift_expand"])
    a, b = squares((scale, expands[0]), (shift, expands[1]))
    torch.autograd.grad(a + b, expands)


def dense(problem: Problem, *, features: bool) -> None:
    """One pass of the per-edge form: `(x[src] * a[dst]) @ W + (x[src] * b[dst]).sum(-1)`."""
    x, weights = problem.x.detach().requires_grad_(features), problem.weights
    neighbors = problem.block.neighbors
    weight = problem.block.coefficient
    assert weight is not None
    reduced = (x @ weights["reduce"].flatten(0, 2).t())[neighbors.source] * weight[:, None]
    codes = reduced.new_zeros(x.size(0), reduced.size(1)).index_add(0, neighbors.target, reduced)
    scale_code, shift_code = codes.view(-1, 2, BOTTLENECK).unbind(1)
    a = leaky_relu(scale_code @ weights["scale_expand"][0].t(), SLOPE)
    b = leaky_relu(shift_code @ weights["shift_expand"][0].t(), SLOPE)
    x_j = x[neighbors.source]
    z = (x_j * (a + 1)[neighbors.target]) @ weights["weight"][0].t()
    z = z + (x_j * b[neighbors.target]).sum(-1, keepdim=True)
    sums = [a.square().sum(), b.square().sum()]
    leaves = problem.leaves(x if features else None)
    gradients = [problem.gradient[:, 0], *(s.detach() for s in sums)]
    torch.autograd.grad([z, *sums], leaves, gradients)


def _job(kernel: str, dataset: str, root: str | None) -> Callable[[], None]:
    return partial(localized, Problem.of(dataset, 1, root), kernel, features=True)


def _reference_bytes(problem: Problem) -> int:
    return 4 * problem.block.neighbors.num_edges * problem.weights["weight"].numel()


def _generated(problem: Problem) -> int:
    """Multiply-adds that make all scales and shifts once."""
    return 2 * len(problem.x) * problem.rows.width * BOTTLENECK


def _least_seconds(problem: Problem, fma: float, bandwidth: float) -> tuple[float, float]:
    """The time of forward and backward at the machine's peak, counting only necessary work.

    Multiply-adds: three products of bottleneck size for every generated number, all of them forward
    (the number itself, and the gradients of its square with respect to code and expansion); W_v
    where its columns occur (backward: four, and four products of bottleneck size); eight for every
    value of a neighbor. Memory: the neighbors' values and columns, and the messages.
    """
    neighbors, rows = problem.block.neighbors, problem.rows
    lengths = (rows.crow[1:] - rows.crow[:-1]).long()
    visits = int(lengths[neighbors.source].sum())
    formed = count_columns(problem.rows, problem.block.neighbors)
    generated = _generated(problem)
    forward = 3 * generated + OUT * (formed + visits)
    backward = 4 * BOTTLENECK * formed + OUT * (4 * formed + visits)
    moved = 8 * visits + 4 * OUT * neighbors.num_edges
    return max(forward / fma, moved / bandwidth), max(backward / fma, moved / bandwidth)


def bench_messages(
    dataset: str,
    root: str | Path | None = None,
    repeats: int = 7,
    progress: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Measure, and return the figures under the keys of the command."""
    problem, eight = Problem.of(dataset, 1, root), Problem.of(dataset, 8, root)
    progress("fused, factored and dense, gradients of weights and features")
    jobs = {
        "fused": partial(localized, problem, "fused", features=True),
        "factored": partial(localized, problem, "factored", features=True),
        "dense": partial(dense, problem, features=True),
    }
    if _reference_bytes(problem) < _REFERENCE_BYTES:
        jobs["reference"] = partial(localized, problem, "reference", features=True)
    full = side_by_side(jobs, repeats)
    progress("eight heads in one pass against one head")
    jobs = {
        "one": partial(localized, problem, "fused", features=True),
        "eight": partial(localized, eight, "fused", features=True),
    }
    heads = side_by_side(jobs, max(repeats, _OF_SHORT))
    progress("gradients of weights only, one head and eight, and the penalty alone")
    codes = (code.detach().requires_grad_() for code in _codes(problem, problem.rows))
    jobs = {
        "fused": partial(localized, problem, "fused", features=False),
        "dense": partial(dense, problem, features=False),
        "forward": partial(localized, problem, "fused", features=False, backward=False),
        "eight": partial(localized, eight, "fused", features=False),
        "penalty": partial(penalty, problem, *codes),
    }
    part = side_by_side(jobs, repeats)
    progress("the machine's peaks, and memory in separate processes")
    fma, bandwidth = multiply_adds_per_second(), bytes_per_second()
    least_forward, least_backward = _least_seconds(problem, fma, bandwidth)
    return {
        "dataset": dataset,
        "threads": torch.get_num_threads(),
        "fused_s": full["fused"],
        "factored_s": full["factored"],
        "dense_s": full["dense"],
        "reference_s": full.get("reference"),
        "speedup_vs_dense": full["dense"] / full["fused"],
        "speedup_vs_factored": full["factored"] / full["fused"],
        "speedup_vs_dense_weights_only": part["dense"] / part["fused"],
        "weights_only_fused_s": part["fused"],
        "heads8_s": heads["eight"],
        "heads8_speedup": 8 * heads["one"] / heads["eight"],
        "heads8_speedup_weights_only": 8 * part["fused"] / part["eight"],
        "share_of_peak_forward": least_forward / part["forward"],
        "share_of_peak_backward": least_backward / (part["fused"] - part["forward"]),
        "penalty_share_of_peak": 3 * _generated(problem) / fma / part["penalty"],
        "peak_gfma_per_s": fma / 1e9,
        "peak_gb_per_s": bandwidth / 1e9,
        "extra_peak_mb": extra_peak_mb(_job, "fused", dataset, root),
        "factored_extra_peak_mb": extra_peak_mb(_job, "factored", dataset, root),
    }
