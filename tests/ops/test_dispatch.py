"""Which kernel serves a call, and ops that are the same in every kernel."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from nodewise.errors import InputError, UnknownNameError
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.ops import dispatch, registered
from nodewise.ops.neighbors import Neighborhood
from nodewise.ops.sparse import SparseRows
from tests.graphs import sparse
from tests.ops.cases import FAST, TOLERANCE, a_case, gradients


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_dropped_entries_make_no_difference(rate: float) -> None:
    case = a_case(rate)
    rows = dispatch.dropout(sparse(case.x), 0.6, training=True)
    assert rows.is_thinned and 0 < rows.values.count_nonzero() < rows.values.numel()
    leaves = [leaf.clone().requires_grad_() for leaf in (case.weight, *case.scale, *case.shift)]
    found = {}
    for kernel in ("fused", "reference"):
        with dispatch.use_kernel(kernel):
            z = dispatch.messages(
                rows, leaves[0], tuple(leaves[1:3]), tuple(leaves[3:]), case.neighbors, case.drop
            )
        found[kernel] = [z, *torch.autograd.grad(z.sin().sum(), leaves)]
    for ours, truth in zip(*found.values(), strict=True):
        torch.testing.assert_close(ours, truth, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (8,), (9,), (3, 5, 11), (700, 33)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dropout_is_the_same_in_every_kernel(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    found = {}
    for kernel in dispatch.KERNELS:
        torch.manual_seed(1)
        x = torch.randn(shape, dtype=dtype, requires_grad=True)
        pull = torch.randn(shape, dtype=dtype)
        with dispatch.use_kernel(kernel):
            out = dispatch.dropout(x, 0.4, training=True)
        found[kernel] = [out, *torch.autograd.grad(out, x, pull)]
    sigma = (0.4 * 0.6 * out.numel()) ** 0.5
    assert abs((out == 0).sum() - 0.4 * out.numel()) <= 4 * sigma
    for kernel in FAST:
        for ours, truth in zip(found[kernel], found["reference"], strict=True):
            torch.testing.assert_close(ours, truth, rtol=1e-6, atol=0)
            assert torch.equal(ours == 0, truth == 0)


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5, float("nan")])
def test_a_rate_that_is_no_share_is_refused(rate: float) -> None:
    with pytest.raises(InputError, match="dropout"):
        dispatch.dropout(torch.ones(3), rate, training=True)


def test_dropout_of_rows_that_lie_elsewhere_in_memory_goes_by_their_order() -> None:
    x, found = torch.randn(5, 17), []
    for rows in (x, x.t().contiguous().t()):
        torch.manual_seed(2)
        found.append(dispatch.dropout(rows, 0.5, training=True))
    assert torch.equal(*found)


def test_dropped_entries_have_a_gradient_where_it_is_asked_for() -> None:
    case = a_case(0.0)
    values = sparse(case.x).values.clone().requires_grad_()
    rows = dispatch.dropout(sparse(case.x).with_values(values), 0.6, training=True)
    z = dispatch.messages(rows, case.weight, case.scale, case.shift, case.neighbors)
    (grad,) = torch.autograd.grad(z.sum(), values)
    assert grad.count_nonzero() > 0 and (grad[rows.values == 0] == 0).all()


def test_rows_without_their_zeros_are_the_same_rows() -> None:
    x = torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    stored = SparseRows.from_dense(torch.ones(4, 3)).with_values(x.flatten())
    crow, col, values = registered.compact(stored.crow, stored.col, stored.values, 3)
    assert crow.tolist() == [0, 1, 1, 3, 3]
    assert col.tolist() == [1, 0, 2] and values.tolist() == [2, 3, 4]


def test_unknown_kernel_is_refused_with_the_nearest_name() -> None:
    with (
        pytest.raises(UnknownNameError, match="did you mean 'fused'"),
        dispatch.use_kernel("fussed"),
    ):
        pass


def test_a_thread_chooses_its_kernel_for_itself() -> None:
    x, chosen, looked = torch.randn(3, 2), Barrier(2, timeout=60), Barrier(2, timeout=60)

    def other() -> list[str]:
        before = dispatch.kernel_for(x)
        with dispatch.use_kernel("reference"):
            chosen.wait()
            looked.wait()
            return [before, dispatch.kernel_for(x)]

    with ThreadPoolExecutor(1) as pool, dispatch.use_kernel("factored"):
        others = pool.submit(other)
        chosen.wait()
        here = dispatch.kernel_for(x)
        looked.wait()
        assert [here, *others.result()] == ["factored", "fused", "reference"]
    assert dispatch.kernel_for(x) == "fused"


def test_a_compiled_function_follows_the_kernel_of_its_thread() -> None:
    neighbors, x = Neighborhood.from_edges(torch.tensor([[0, 1], [1, 2]]), 3), torch.randn(3, 2)

    def kernel_and_sum(x: Tensor) -> tuple[str, Tensor]:
        return dispatch.kernel_for(x), dispatch.sum_neighbors(x, None, neighbors)

    compiled = torch.compile(kernel_and_sum, backend="aot_eager", fullgraph=True)
    for kernel in (*dispatch.KERNELS, *dispatch.KERNELS):
        with dispatch.use_kernel(kernel):
            assert compiled(x)[0] == kernel
    assert compiled(x)[0] == "fused"


def test_without_numba_factored_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(3, 2)
    assert dispatch.kernel_for(x) == "fused"
    assert dispatch.kernel_for(x.half()) == dispatch.kernel_for(x.to("meta")) == "factored"
    monkeypatch.setattr(dispatch, "_numba_is_here", False)
    assert dispatch.kernel_for(x) == "factored"
    with dispatch.use_kernel("reference"):
        assert dispatch.kernel_for(x) == "reference"


WITHOUT_NUMBA = """
import os, sys
if "NUMBA_DISABLE_JIT" not in os.environ:
    sys.modules["numba"] = None  # an import of it fails
import nodewise as nw
data = nw.load_dataset("toy")
clf = nw.NodeClassifier("LGCN", recipe="nodewise", settings={"epochs": 3}).fit(data)
print(len(clf.predict(data)) == data.num_nodes, nw.build_model("LGAT", data.num_features, 3))
"""


@pytest.mark.medium
@pytest.mark.parametrize(
    "more", [{}, pytest.param({"NUMBA_DISABLE_JIT": "1"}, marks=pytest.mark.slow)]
)
def test_a_process_without_numba_or_its_compiler_trains_and_predicts(more: dict[str, str]) -> None:
    command, environment = [sys.executable, "-c", WITHOUT_NUMBA], {**os.environ, **more}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("True ")


@pytest.mark.parametrize("numbers", [1, 20])
def test_factored_in_many_chunks_is_the_same(monkeypatch: pytest.MonkeyPatch, numbers: int) -> None:
    case = a_case(0.3)
    whole = gradients(case, case.x, "factored")
    monkeypatch.setattr("nodewise.ops.factored.CHUNK_NUMBERS", numbers)
    for ours, truth in zip(gradients(case, case.x, "factored"), whole, strict=True):
        torch.testing.assert_close(ours, truth, rtol=TOLERANCE, atol=TOLERANCE)


class Largest(TorchDispatchMode):
    """Remembers the largest tensor that any operation returned."""

    numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        out = func(*args, **(kwargs or {}))
        for one in out if isinstance(out, tuple | list) else [out]:
            if isinstance(one, Tensor) and one.is_floating_point():
                self.numbers = max(self.numbers, one.numel())
        return out


@pytest.mark.parametrize("levels", [{}, {"edge_level": False}, {"bottleneck": None}])
def test_factored_makes_no_tensor_of_edges_times_features(
    monkeypatch: pytest.MonkeyPatch, levels: dict[str, Any]
) -> None:
    nodes, edges, width, limit = 40, 3000, 50, 4000
    monkeypatch.setattr("nodewise.ops.factored.CHUNK_NUMBERS", limit)
    torch.manual_seed(0)
    edge_index = torch.randint(0, nodes, (2, edges))
    edge_index[1, : edges // 2] = 7  # a hub that is too much by itself
    conv = LocalizedConv(width, 1, "mean", **{"bottleneck": 4, **levels})
    x = torch.randn(nodes, width, requires_grad=True)
    with dispatch.use_kernel("factored"), Largest() as largest:
        conv(x, edge_index).square().sum().backward()
    assert largest.numbers <= limit < edges * width / 30
