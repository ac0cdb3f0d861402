"""No reader lets scipy, torch or NumPy see indices that point outside.

Before the checks, half of these cases ended the process with signal 11. Each case of the table goes
through every entry point that can carry it, and is one line that names the array, the value and the
bound.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from torch_geometric.data import Data

import nodewise as nw
from nodewise.data import index_arrays
from nodewise.data.checks import check_data, check_graph
from nodewise.data.index_arrays import WIDEST, ArrayChecks
from nodewise.data.writers.write_graph import write_graph
from nodewise.errors import GraphError, InputError
from tests.data.array_readers import (
    CSR_ENTRIES,
    EDGE_ENTRIES,
    EDGES,
    TORCH_ENTRIES,
    arrays_of,
    graph_of,
    named,
    npz_features,
    sparse_x,
)
from tests.data.bad_arrays import BAD_MATRICES, BAD_PAIRS, MATRIX, PAIRS, PARTS, Bad


def carried() -> list[Any]:
    """Each case with each entry point that it can come through."""
    pairs = ((bad, name) for bad in BAD_MATRICES for name in CSR_ENTRIES)
    return [pytest.param(*pair, id=f"{pair[0].name}, {pair[1]}") for pair in pairs if opens(*pair)]


def opens(bad: Bad, entry: str) -> bool:
    """Whether an array of this type is opened at all; `test_..._not_opened` has the others."""
    closed = {"planetoid": "OUc", "the check": "", "cache": "", "scipy to torch": ""}
    of_shape = entry == "scipy to torch" and bad.part == "shape"
    return bad.array.dtype.kind not in closed.get(entry, "O") and not of_shape


@pytest.mark.parametrize(("bad", "entry"), carried())
def test_a_matrix_that_is_none(bad: Bad, entry: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        CSR_ENTRIES[entry](bad.parts, tmp_path)
    message = str(caught.value)
    assert bad.says in message and "\n" not in message and caught.value.way_out in message
    assert bad.says.startswith("ind") or bad.part in caught.value.field


@pytest.mark.parametrize("entry", [name for name in CSR_ENTRIES if name != "planetoid"])
@pytest.mark.parametrize("dtype", ["<i2", ">i8", "u8"])
def test_a_matrix_that_is_one(entry: str, dtype: str, tmp_path: Path) -> None:
    parts = {part: PARTS[part].astype(dtype) for part in ("indices", "indptr", "shape")}
    assert_read_alike(CSR_ENTRIES[entry], {**PARTS, **parts}, PARTS, tmp_path)


@pytest.mark.parametrize("entry", [name for name in CSR_ENTRIES if "npz" in name or "of" in name])
@pytest.mark.parametrize("dtype", ["?", "f2", ">f4", ">i8", "g"])
def test_entries_of_types_that_scipy_lacks(entry: str, dtype: str, tmp_path: Path) -> None:
    given = PARTS["data"].astype(dtype)
    as_float = {**PARTS, "data": given.astype("f4")}
    assert_read_alike(CSR_ENTRIES[entry], {**PARTS, "data": given}, as_float, tmp_path)


def assert_read_alike(entry: Callable[..., Any], given: Any, plain: Any, folder: Path) -> None:
    """Check that an entry point reads arrays of unusual types as it reads the usual ones."""
    found, expected = arrays_of(entry(given, folder)), arrays_of(entry(plain, folder))
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def torch_carried() -> list[Any]:
    torch_builds = [bad for bad in BAD_MATRICES if sparse_x(bad.parts) is not None]
    pairs = ((bad, name) for bad in torch_builds for name in TORCH_ENTRIES)
    return [pytest.param(*pair, id=f"{pair[0].name}, {pair[1]}") for pair in pairs]


@pytest.mark.parametrize(("bad", "entry"), torch_carried())
def test_a_sparse_tensor_that_is_none(bad: Bad, entry: str, tmp_path: Path) -> None:
    with pytest.raises(GraphError) as caught:
        TORCH_ENTRIES[entry](bad.parts, tmp_path)
    assert caught.value.field.startswith("x") and "\n" not in str(caught.value)


def test_torch_builds_what_would_end_the_process() -> None:
    names = {bad.name for bad in BAD_MATRICES if sparse_x(bad.parts) is not None}
    assert names > {"indptr that ends at 0", "float indptr", "index too large", "negative index"}


def test_a_sparse_tensor_that_is_one(tmp_path: Path) -> None:
    check_data(graph_of(PARTS))  # `fit` begins with it
    write_graph(graph_of(PARTS), tmp_path / "tables")
    written = nw.read_graph(
        tmp_path / "tables/nodes.csv", tmp_path / "tables/edges.csv", scale=False
    )
    for graph in (nw.read_graph(graph_of(PARTS)), written):
        found = arrays_of(graph)
        np.testing.assert_array_equal(found["x"], MATRIX.toarray())
        assert {*map(frozenset, found["edge_index"].T)} == {*map(frozenset, PAIRS)}


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csc", "numpy", "list"])
def test_features_of_another_kind(layout: str) -> None:
    x: Any = {"numpy": np.eye(4), "list": [[1.0]] * 4}.get(layout)
    if x is None:
        x = torch.eye(4).to_sparse() if layout == "sparse_coo" else torch.eye(4).to_sparse_csc()
    with pytest.raises(GraphError, match="x: must be"):
        check_graph(x, EDGES)


@pytest.mark.parametrize("entry", EDGE_ENTRIES)
@pytest.mark.parametrize("case", BAD_PAIRS, ids=[case[0] for case in BAD_PAIRS])
def test_edges_that_are_none(case: tuple[str, Any, str], entry: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        EDGE_ENTRIES[entry](case[1], tmp_path)
    assert case[2] in str(caught.value) and "edge" in caught.value.field


@pytest.mark.parametrize("entry", EDGE_ENTRIES)
@pytest.mark.parametrize("dtype", ["i1", ">i4", "u8"])
def test_edges_that_are_some(entry: str, dtype: str, tmp_path: Path) -> None:
    assert_read_alike(EDGE_ENTRIES[entry], PAIRS.astype(dtype), PAIRS, tmp_path)


def edge_tensors() -> list[Any]:
    cases = []
    for name, pairs, _ in BAD_PAIRS:
        with suppress(TypeError):  # torch has no texts
            cases.append(pytest.param(torch.from_numpy(pairs.T.copy()), id=name))
    whole = EDGES.to_sparse()
    return [*cases, pytest.param(whole, id="sparse"), pytest.param(EDGES.numpy(), id="numpy")]


@pytest.mark.parametrize("edge_index", edge_tensors())
def test_edges_of_a_data_that_are_none(edge_index: Any) -> None:
    data = Data(x=torch.eye(4), edge_index=edge_index, y=torch.tensor([0, 1, 0, 1]))
    for entry in (nw.read_graph, lambda data: nw.NodeClassifier("GCN").fit(data, [0, 1, 2, 3])):
        with pytest.raises(GraphError, match="edge_index"):
            entry(data)


def test_more_columns_than_can_have_names(tmp_path: Path) -> None:
    wide = {**PARTS, "shape": np.array([4, WIDEST + 1])}
    # Before each column of the npz gets a name, hence not by the check of `x` in the end.
    with pytest.raises(InputError, match=rf"graph\.npz: has more than {WIDEST} features"):
        npz_features(wide, tmp_path)
    for entry in TORCH_ENTRIES.values():
        with pytest.raises(GraphError, match=f"more than {WIDEST} features .found {WIDEST + 1}"):
            entry(wide, tmp_path)
    (tmp_path / "graph.edge").write_text("0\t1\n")
    for count in ("999999999", "9" * 5000):
        (tmp_path / "graph.node").write_text(f"2\t{count}\n0\t0\t1\n1\t1\t1\n")
        with pytest.raises(InputError, match=f"line 1: has more than {WIDEST} features") as caught:
            nw.read_graph(tmp_path / "graph.node")
        assert len(str(caught.value)) < 400


def is_csr(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> bool:
    """The definition, entry by entry."""
    rows, columns = shape
    begins, ends = indptr[:-1].tolist(), indptr[1:].tolist()
    return (
        len(indptr) == rows + 1
        and indptr[0] == 0
        and all(begin <= end for begin, end in zip(begins, ends, strict=True))
        and indptr[-1] == len(data) == len(indices)
        and all(0 <= index < columns for index in indices.tolist())
    )


SMALL = st.integers(-1, 4)


def few(least: int) -> st.SearchStrategy[NDArray[Any]]:
    sizes = st.integers(least, 4)
    return hnp.arrays(np.int64, sizes, elements=SMALL) | hnp.arrays(
        np.uint8, sizes, elements=st.integers(0, 4)
    )


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 4), few(0), few(1), st.tuples(st.integers(0, 3), st.integers(0, 4)))
def test_the_check_is_the_definition(
    count: int, indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> None:
    parts = {"data": np.ones(count), "indices": indices, "indptr": indptr, "shape": shape}
    try:
        accepted = ArrayChecks().csr(parts) == shape
    except InputError:
        accepted = False
    assert accepted == is_csr(**parts)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=5), st.integers(1, 4), st.data())
def test_offsets_are_compared_across_chunks(
    lengths: list[int], chunk: int, data: st.DataObject
) -> None:
    offsets = np.cumsum([0, *lengths])
    position = data.draw(st.integers(0, len(lengths)))
    wrong = offsets.copy()
    wrong[position] += data.draw(st.integers(-9, 9).filter(bool))
    sound = wrong[0] == 0 and (np.diff(wrong) >= 0).all() and wrong[-1] == offsets[-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_arrays, "_CHUNK", chunk)
        ArrayChecks().offsets("ptr", offsets, rows=len(lengths), count=int(offsets[-1]))
        if not sound:
            with pytest.raises(InputError):
                ArrayChecks().offsets("ptr", wrong, rows=len(lengths), count=int(offsets[-1]))


def test_a_check_copies_nothing() -> None:
    rows = 1 << 22
    indptr = np.arange(rows + 1, dtype=np.int64)
    indices, data = np.zeros(rows, np.int64), np.ones(rows, np.float32)
    parts = {"data": data, "indices": indices, "indptr": indptr, "shape": (rows, 1)}
    tracemalloc.start()
    try:
        ArrayChecks().csr(parts)
        assert tracemalloc.get_traced_memory()[1] < indptr.nbytes / 8
    finally:
        tracemalloc.stop()


@pytest.mark.medium
def test_the_command_line_says_it_in_one_line(tmp_path: Path) -> None:
    bad = next(bad for bad in BAD_MATRICES if bad.name == "indptr that ends at 0")
    np.savez(tmp_path / "e.npz", **named("attr", bad.parts), edges=PAIRS, labels=[0, 1, 0, 1])
    command = [sys.executable, "-m", "nodewise", "train", "--nodes", "e.npz", "--out", "run"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2  # it was -11, a segmentation fault
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("nodewise: e.npz, attr_indptr[4]: must never decrease")
    assert not (tmp_path / "run").exists()
