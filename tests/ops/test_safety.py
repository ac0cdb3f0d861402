"""No index and no size reaches compiled code unchecked."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from torch import Tensor

import nodewise as nw
from nodewise.errors import InputError
from nodewise.ops import dispatch, registered, safety
from nodewise.ops.neighbors import Neighborhood
from nodewise.ops.sparse import SparseRows
from tests.ops.bad_inputs import (
    CLASSES,
    KERNELS,
    MODELS,
    WIDTH,
    Bad,
    data_of,
    good_edges,
    good_rows,
    table,
)

BAD = table()


@pytest.mark.parametrize("bad", BAD, ids=str)
@pytest.mark.parametrize("kernel", KERNELS)
def test_models_refuse_what_would_leave_its_memory(bad: Bad, kernel: str) -> None:
    for name in MODELS:
        model = getattr(nw, name)(WIDTH, 8, CLASSES)
        with nw.use_kernel(kernel), pytest.raises(InputError) as caught:
            model(bad.x, bad.edge_index)
        assert caught.value.field.split(".")[0].split("[")[0] == bad.blamed
        assert "must" in str(caught.value) and caught.value.value is not None


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_fit_refuses_it_too(bad: Bad) -> None:
    if "columns" in bad.name:
        pytest.skip("any width is right for a model that is yet to be built")
    classifier = nw.NodeClassifier("LGCN", settings={"epochs": 1})
    with pytest.raises(InputError):
        classifier.fit(data_of(bad))


def test_good_inputs_pass() -> None:
    torch.manual_seed(0)  # LGAT of some seeds makes large numbers, which rounding moves
    for name in MODELS:
        model = getattr(nw, name)(WIDTH, 8, CLASSES).eval()
        dense = model(good_rows(), good_edges())
        sparse = model(good_rows().to_sparse_csr(), good_edges())
        assert dense.isfinite().all()
        torch.testing.assert_close(dense, sparse)


def test_an_index_that_is_changed_in_place_is_checked_again() -> None:
    index = torch.arange(5)
    safety.check_index("index", index, 5)
    index[2] = 9
    with pytest.raises(InputError, match=r"index\[2\].*found 9"):
        safety.check_index("index", index, 5)


def test_sparse_features_that_are_changed_in_place_are_checked_again() -> None:
    x, edges = good_rows().to_sparse_csr(), good_edges()
    model = nw.LGCN(WIDTH, 8, CLASSES)
    model(x, edges)
    x.col_indices()[4] = -1
    with pytest.raises(InputError, match=r"x\.col"):
        model(x, edges)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """A list that gets every array that is passed over from now on."""
    passes: list[Tensor] = []
    find = safety._find_facts

    def find_and_count(name: str, index: Tensor) -> safety.Facts:
        passes.append(index)
        return find(name, index)

    monkeypatch.setattr(safety, "_find_facts", find_and_count)
    return passes


def test_what_is_known_of_a_tensor_is_found_out_once_and_forgotten_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passes: list[Tensor] = []
    find = safety._find_facts
    monkeypatch.setattr(
        safety, "_find_facts", lambda name, index: passes.append(index) or find(name, index)
    )
    index = torch.arange(5)
    for _ in range(3):
        safety.check_index("index", index, 5)
    assert len(passes) == 1
    passes.clear()
    key = id(index)
    assert key in safety._known
    del index
    gc.collect()
    assert key not in safety._known


def test_a_training_step_passes_over_no_index_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a layer makes anew in every step would be checked anew in every step."""
    x, edges = good_rows().to_sparse_csr(), good_edges()
    model = nw.LGAT(WIDTH, 8, CLASSES, dropout=0.5)

    def step() -> None:
        model(x, edges).sum().backward()

    step()
    passes: list[Tensor] = []
    find = safety._find_facts
    monkeypatch.setattr(
        safety, "_find_facts", lambda name, index: passes.append(index) or find(name, index)
    )
    step()
    assert passes == []


@pytest.mark.parametrize(
    "offsets", [[1, 2], [0, 3, 2, 2], [0, 1], [0, 5], [], [0, -1, 2], [0, 1, 1, 2, 9]]
)
def test_offsets_begin_with_zero_rise_and_end_with_the_number_of_entries(
    offsets: list[int],
) -> None:
    with pytest.raises(InputError, match="ptr"):
        safety.check_offsets("ptr", torch.tensor(offsets, dtype=torch.int64), 2)


def test_parts_made_by_hand_are_checked_when_they_are_made() -> None:
    neighbors = Neighborhood.from_edges(good_edges(), 30)
    with pytest.raises(InputError, match="source"):
        replace(neighbors, num_sources=3)
    with pytest.raises(InputError, match="ptr"):
        replace(neighbors, ptr=neighbors.ptr[1:])
    rows = SparseRows.from_dense(good_rows())
    with pytest.raises(InputError, match=r"x\.col"):
        replace(rows, width=3)
    with pytest.raises(InputError, match=r"x\.values"):
        rows.with_values(rows.values[1:])


def test_ops_that_are_called_by_their_registered_names_check_too() -> None:
    neighbors, x = Neighborhood.from_edges(good_edges(), 30), torch.randn(30, 4)
    back = neighbors.reverse
    runs = [neighbors.source, neighbors.ptr, back.source, back.edge_id, back.ptr]
    torch.ops.nodewise.sum_runs(x, None, *runs)
    for place, bad in enumerate(runs):
        wrong = bad.clone()
        wrong[len(wrong) // 2] = 10**6
        given = [wrong if i == place else one for i, one in enumerate(runs)]
        with pytest.raises(InputError):
            torch.ops.nodewise.sum_runs(x, None, *given)
    with pytest.raises(InputError, match="weight"):
        torch.ops.nodewise.sum_runs(x, torch.ones(7), *runs)


def test_precisions_are_not_mixed() -> None:
    neighbors, z = Neighborhood.from_edges(good_edges(), 30), torch.ones(90, 1, 8)
    half = torch.ones(30, 1, 8)
    with pytest.raises(InputError, match=r"shift_source.*float64"):
        dispatch.modulate_edges(z, (half, half), (half, half.double()), neighbors)


def test_a_compiled_model_checks_its_edges() -> None:
    model = torch.compile(nw.LGCN(WIDTH, 8, CLASSES), backend="aot_eager")
    edges = good_edges()
    edges = edges[:, edges[0] != edges[1]]
    assert model(good_rows(), edges).isfinite().all()
    wrong = edges.clone()
    wrong[0, 3] = -1
    with pytest.raises(Exception, match=r"not there|must be at least 0"):
        model(good_rows(), wrong)


CHECKED = """
import pytest, sys
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-m", "not slow", *sys.argv[1:]]))
"""


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize(
    "tests",
    [["tests/ops/test_safety.py"], ["tests/ops/fused"], ["tests/ops/test_guard_page.py"]],
)
def test_the_same_with_every_access_checked(tests: list[str]) -> None:
    """With NODEWISE_CHECKED=1 a kernel that leaves an array raises an IndexError."""
    environment = {**os.environ, "NODEWISE_CHECKED": "1"}
    command = [sys.executable, "-c", CHECKED, *tests]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ended.returncode == 0, ended.stdout[-3000:]


CAUGHT = """
import numpy as np
from numba import njit
from nodewise.ops.fused.simd import get, load, put, store, views, zeros

@njit
def read(array, i):
    return get(views(array), i)

@njit
def write(array, i):
    store(views(array), i, zeros(views(array)))

for function, index in ((read, 8), (read, -1), (write, 1), (write, -1)):
    try:
        function(np.ones(8), index)
        print("missed")
    except IndexError as error:
        print("caught", "left its array" in str(error))
function(np.ones(8), 0), read(np.ones(8), 7)
"""


def test_checked_kernels_see_where_their_arrays_end() -> None:
    environment = {**os.environ, "NODEWISE_CHECKED": "1"}
    command = [sys.executable, "-c", CAUGHT]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ended.stdout.split("\n")[:4] == ["caught True"] * 4, ended.stderr


def test_every_op_has_a_check() -> None:
    """`dropout` alone takes no index and no second size."""
    names = ("messages", "squares", "modulate_edges", "sum_runs")
    assert all(getattr(registered, name).check.__name__.startswith("_check") for name in names)
