"""No reader lets scipy, torch or NumPy see indices that point outside.

Before the checks, half of these cases ended the process with signal 11. Each case of the table goes
through every entry point that can carry it, and is one line that names the array, the value and the
bound.
"""

# ruff: noqa: E501 (a table reads by its lines)
from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from torch_geometric.data import Data

import nodewise as nw
from nodewise.data import index_arrays
from nodewise.data.checks import check_data, check_graph
from nodewise.data.features import to_csr
from nodewise.data.index_arrays import WIDEST, ArrayChecks
from nodewise.data.published import cache
from nodewise.data.published.readers import (
    read_gnn_benchmark,
    read_heterophilous,
    read_planetoid,
)
from nodewise.data.published.safe_pickle import loads
from nodewise.data.splits.drawn import hold_out
from nodewise.data.splits.split import PARTS as PARTS_OF_A_SPLIT
from nodewise.data.splits.split import Split
from nodewise.data.writers.write_graph import write_graph
from nodewise.errors import GraphError, InputError, NodewiseError, RawFileError, SplitError
from tests.data.bad_arrays import BAD_MATRICES, BAD_PAIRS, HUGE, PAIRS, PARTS, Bad
from tests.data.published.test_readers import heterophilous_arrays
from tests.data.raw_files import dumps, npz_file, planetoid_files

EDGES = torch.from_numpy(PAIRS.T.copy())
Parts = dict[str, Any]
Entry = Callable[[Parts, Path], object]


def named(prefix: str, parts: Parts) -> Parts:
    return {f"{prefix}_{part}": array for part, array in parts.items()}


def lying(parts: Parts) -> Any:
    """A matrix of scipy's that has these attributes, as an unpickler would make it."""
    matrix = csr_matrix.__new__(csr_matrix)
    matrix.__dict__ |= {part: parts[part] for part in ("data", "indices", "indptr")}
    matrix.__dict__["_shape"] = parts["shape"].tolist()
    return matrix


def read_npz(arrays: Parts, folder: Path) -> nw.GraphTable:
    np.savez(folder / "graph.npz", **arrays)
    return nw.read_graph(folder / "graph.npz")


def npz_features(parts: Parts, folder: Path) -> object:
    return read_npz({**named("attr", parts), "edges": PAIRS}, folder)


def npz_adjacency(parts: Parts, folder: Path) -> object:
    return read_npz({**named("adj", parts), "x": np.eye(4)}, folder)


def amazon(adjacency: Parts, attributes: Parts) -> object:
    arrays = {**named("adj", adjacency), **named("attr", attributes)}
    labels = {"labels": np.array([0, 1, 0, 1]), "class_names": ["a", "b"]}
    return read_gnn_benchmark({"graph.npz": npz_file(**arrays, **labels)})


def planetoid(parts: Parts, _: Path) -> object:
    return read_planetoid({**planetoid_files(), "ind.mini.allx": dumps(lying(parts))})


def cached_graph(parts: Parts, _: Path) -> object:
    arrays = {**named("x", parts), "edge_index": EDGES.numpy(), "y": np.zeros(4, np.int64)}
    return cache._to_graph(arrays, {"feature": None, "class": None})


def sparse_x(parts: Parts) -> torch.Tensor | None:
    """Features of torch, built as by default: without a check. None where torch refuses them."""
    try:
        values, col, crow = (
            torch.from_numpy(parts[part]) for part in ("data", "indices", "indptr")
        )
        size = tuple(parts["shape"].tolist())
        return torch.sparse_csr_tensor(crow, col, values, size=size, check_invariants=False)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None


def graph_of(parts: Parts) -> Data:
    return Data(x=sparse_x(parts), edge_index=EDGES, y=torch.tensor([0, 1, 0, 1]))


CSR_ENTRIES: dict[str, Entry] = {
    "the check": lambda parts, _: ArrayChecks().csr(parts),
    "features of an npz": npz_features,
    "adjacency of an npz": npz_adjacency,
    "features of amazon": lambda parts, _: amazon(PARTS, parts),
    "adjacency of amazon": lambda parts, _: amazon(parts, PARTS),
    "planetoid": planetoid,
    "cache": cached_graph,
    "scipy to torch": lambda parts, _: to_csr(lying(parts)),
}
TORCH_ENTRIES: dict[str, Entry] = {
    "check_graph": lambda parts, _: check_graph(sparse_x(parts), EDGES),
    "read_graph": lambda parts, _: nw.read_graph(graph_of(parts)),
    "write_graph": lambda parts, folder: write_graph(graph_of(parts), folder / "tables"),
    "fit": lambda parts, _: nw.NodeClassifier("GCN").fit(graph_of(parts), [0, 1, 2, 3]),
}


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
    CSR_ENTRIES[entry]({**PARTS, **parts}, tmp_path)


@pytest.mark.parametrize("entry", [name for name in CSR_ENTRIES if "npz" in name or "of" in name])
@pytest.mark.parametrize("dtype", ["?", "f2", ">f4", ">i8", "g"])
def test_entries_of_types_that_scipy_lacks(entry: str, dtype: str, tmp_path: Path) -> None:
    CSR_ENTRIES[entry]({**PARTS, "data": PARTS["data"].astype(dtype)}, tmp_path)


@pytest.mark.parametrize("part", ["data", "indices", "indptr"])
@pytest.mark.parametrize("dtype", ["O", "U1", "c16", "M8[s]"])
def test_a_pickle_with_another_type_is_not_opened(part: str, dtype: str) -> None:
    matrix = lying({**PARTS, part: np.zeros(5, dtype)})
    with pytest.raises(
        RawFileError, match=r"ind.cora.x: is damaged, or not a pickle.*are not read"
    ):
        loads("ind.cora.x", dumps(matrix))


def test_a_pickle_cannot_make_an_array_of_pointers() -> None:
    # The type says objects and its flags say none: NumPy would take the bytes for addresses.
    content = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR"
        b"(I1\n(I1\ntcnumpy\ndtype\n(S'O8'\nI0\nI1\ntR(I3\nS'|'\nNNNI-1\nI-1\nI0\ntb"
        b"I00\nS'AAAAAAAA'\ntb."
    )
    with pytest.raises(RawFileError, match="arrays of 'O8' are not read"):
        loads("ind.cora.y", content)


@pytest.mark.parametrize("shape", [(2, 3), (6,), (7, 2), (-1,), (2**62, 2**62), ()])
def test_a_pickled_array_has_the_bytes_of_its_shape(shape: tuple[int, ...]) -> None:
    array = np.arange(6, dtype=np.float32)
    content = dumps(array).replace(b"K\x06\x85", pickled(shape), 1)
    if shape in ((2, 3), (6,), (-1,)):
        assert loads("y", content).ravel().tolist() == array.tolist()
    else:
        with pytest.raises(RawFileError, match="damaged, or not a pickle"):
            loads("y", content)


def pickled(shape: tuple[int, ...]) -> bytes:
    """The tuple alone, without what a pickle has around it."""
    return pickle.dumps(shape, 0)[:-1].replace(b"p0\n", b"")


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


@pytest.mark.parametrize("entry", TORCH_ENTRIES)
def test_a_sparse_tensor_that_is_one(entry: str, tmp_path: Path) -> None:
    if entry == "fit":  # which would train
        check_data(graph_of(PARTS))
    else:
        TORCH_ENTRIES[entry](PARTS, tmp_path)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csc", "numpy", "list"])
def test_features_of_another_kind(layout: str) -> None:
    x: Any = {"numpy": np.eye(4), "list": [[1.0]] * 4}.get(layout)
    if x is None:
        x = torch.eye(4).to_sparse() if layout == "sparse_coo" else torch.eye(4).to_sparse_csc()
    with pytest.raises(GraphError, match="x: must be"):
        check_graph(x, EDGES)


def npz_pairs(pairs: Any, folder: Path) -> object:
    return read_npz({"x": np.eye(4), "edges": pairs}, folder)


def npz_edge_index(pairs: Any, folder: Path) -> object:
    return read_npz({"x": np.eye(4), "edge_index": pairs.T}, folder)


def wikipedia(pairs: Any, _: Path) -> object:
    four = {"node_features": np.eye(4), "node_labels": np.array([0, 1, 0, 1])}
    masks = {f"{part}_masks": np.eye(4, dtype=bool) for part in ("train", "val", "test")}
    return read_heterophilous({"graph.npz": npz_file(**four, **masks, edges=pairs)})


def cached_edges(pairs: Any, _: Path) -> object:
    arrays = {**named("x", PARTS), "edge_index": pairs.T, "y": np.zeros(4, np.int64)}
    return cache._to_graph(arrays, {"feature": None, "class": None})


EDGE_ENTRIES = {
    "edges of an npz": npz_pairs,
    "edge_index of an npz": npz_edge_index,
    "edges of wikipedia": wikipedia,
    "cache": cached_edges,
}


@pytest.mark.parametrize("entry", EDGE_ENTRIES)
@pytest.mark.parametrize("case", BAD_PAIRS, ids=[case[0] for case in BAD_PAIRS])
def test_edges_that_are_none(case: tuple[str, Any, str], entry: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        EDGE_ENTRIES[entry](case[1], tmp_path)
    assert case[2] in str(caught.value) and "edge" in caught.value.field


@pytest.mark.parametrize("entry", EDGE_ENTRIES)
@pytest.mark.parametrize("dtype", ["i1", ">i4", "u8"])
def test_edges_that_are_some(entry: str, dtype: str, tmp_path: Path) -> None:
    EDGE_ENTRIES[entry](PAIRS.astype(dtype), tmp_path)


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


def part_of_planetoid(part: str, content: bytes) -> object:
    return read_planetoid({**planetoid_files(), f"ind.mini.{part}": content})


# fmt: off
PLANETOID = [
    ("test.index", b"600\n" * 9, "must have shape (10) (found (9,))"),
    ("test.index", b"600\n" * 9 + b"-1", "[9]: must be at least 600 and below 611 (found -1)"),
    ("test.index", b"600\n" * 9 + b"611", "[9]: must be at least 600 and below 611 (found 611)"),
    ("test.index", b"600\n" * 9 + b"9" * 30, "must be lines of integers"),
    ("test.index", b"600\n" * 9 + b"six", "must be lines of integers"),
    ("test.index", b"", "must have shape (10) (found (0,))"),
    ("graph", dumps({v: [0] for v in range(610)} | {610: [611]}), "[610, 1]: must be at least 0 and below 611 (found 611)"),
    ("graph", dumps({v: [0] for v in range(610)} | {-1: [0]}), "[610, 0]: must be at least 0 and below 611 (found -1)"),
    ("graph", dumps({v: [2**70] for v in range(611)}), "must hold integers (found 'object')"),
    ("graph", dumps({v: [0.5] for v in range(611)}), "must be node numbers, each with a list"),
    ("graph", dumps({v: [[1], [2, 3]] for v in range(611)}), "must be node numbers, each with a list"),
    ("graph", dumps({v: 1 for v in range(611)}), "must be node numbers, each with a list"),
    ("graph", dumps([1, 2]), "must hold a dict (found 'list')"),
    ("graph", dumps({}), "must be at least 600 and below 0"),
    ("allx", dumps(np.eye(600, 4)), "must hold a csr_matrix (found 'ndarray')"),
    ("tx", dumps(csr_matrix(np.eye(10, 5))), "must have 4 columns, as ind.mini.allx has (found 5)"),
    ("tx", dumps(csr_matrix(np.eye(9, 4))), "ind.mini.test.index: must have shape (9)"),
    ("ally", dumps(np.eye(599, 3)), "must have shape (600, any) (found (599, 3))"),
    ("ally", dumps(np.empty((600, 0))), "must have shape (600, 1) (found (600, 0))"),
    ("ally", dumps([1, 2]), "must be an array of numbers (found 'list')"),
    ("ty", dumps(np.eye(10, 4)), "must have shape (10, 3) (found (10, 4))"),
    ("y", dumps(np.array(1)), "must have shape (any, any) (found ())"),
]
# fmt: on


@pytest.mark.parametrize(("part", "content", "says"), PLANETOID)
def test_parts_of_planetoid_that_do_not_fit(part: str, content: bytes, says: str) -> None:
    with pytest.raises(RawFileError) as caught:
        part_of_planetoid(part, content)
    assert says in str(caught.value) and "ind.mini." in caught.value.field


# fmt: off
WIKIPEDIA = [
    ("node_features", np.ones(3), "must have shape (any, any) (found (3,))"),
    ("node_features", np.array(1.0), "must have shape (any, any) (found ())"),
    ("node_features", np.full((3, 2), "a"), "must hold numbers"),
    ("node_labels", np.array([0, 1]), "must have shape (3) (found (2,))"),
    ("node_labels", np.array([0, 1, 10**12]), "[2]: must be at least -1 and below 3 (found 1000000000000)"),
    ("node_labels", np.array([0, 1, -2]), "[2]: must be at least -1 and below 3 (found -2)"),
    ("node_labels", np.array([0.0, 1.0, 0.0]), "must hold integers"),
    ("train_masks", np.ones(3, bool), "must have shape (any, 3) (found (3,))"),
    ("val_masks", np.ones((2, 4), bool), "must have shape (any, 3) (found (2, 4))"),
    ("test_masks", np.ones((1, 3), bool), "must have shape (2, 3) (found (1, 3))"),
    ("test_masks", np.full((2, 3), np.nan), "must hold booleans or integers"),
]
# fmt: on


@pytest.mark.parametrize(("name", "array", "says"), WIKIPEDIA)
def test_arrays_of_wikipedia_that_do_not_fit(name: str, array: Any, says: str) -> None:
    with pytest.raises(RawFileError) as caught:
        read_heterophilous({"small.npz": npz_file(**{**heterophilous_arrays(), name: array})})
    assert says in str(caught.value) and caught.value.field == f"small.npz, {name}"


# fmt: off
AMAZON = [
    ("labels", np.array([0, 1, 0]), "must have shape (4) (found (3,))"),
    ("labels", np.array([0, 1, 0, 2]), "[3]: must be at least 0 and below 2 (found 2)"),
    ("labels", np.array(0), "must have shape (4) (found ())"),
    ("class_names", np.array("ab"), "must have shape (any) (found ())"),
    ("class_names", np.array([1, 2]), "must hold texts"),
]
# fmt: on


@pytest.mark.parametrize(("name", "array", "says"), AMAZON)
def test_arrays_of_amazon_that_do_not_fit(name: str, array: Any, says: str) -> None:
    arrays = {**named("adj", PARTS), **named("attr", PARTS), "class_names": ["a", "b"]}
    content = npz_file(**{**arrays, "labels": np.array([0, 1, 0, 1]), name: array})
    with pytest.raises(RawFileError) as caught:
        read_gnn_benchmark({"small.npz": content})
    assert says in str(caught.value) and caught.value.field == f"small.npz, {name}"


def test_an_adjacency_is_square_and_has_the_nodes_of_the_features(tmp_path: Path) -> None:
    wide = {**PARTS, "shape": np.array([4, 9])}
    with pytest.raises(RawFileError, match=r"adj_shape: must be twice 4.*found \(4, 9\)"):
        amazon(wide, PARTS)
    with pytest.raises(InputError, match=r"adj_shape: must be twice 4.*found \(4, 9\)"):
        npz_adjacency(wide, tmp_path)


# fmt: off
NPZ = [
    ("x", np.ones(4), "x: must have shape (any, any) (found (4,))"),
    ("x", np.array(1.0), "x: must have shape (any, any) (found ())"),
    ("x", np.full((4, 2), "a"), "x: must hold numbers"),
    ("x", np.full((4, 2), 1e300), "must be finite"),
    ("labels", np.array(1), "labels: must have shape (any) (found ())"),
    ("labels", np.array([0, 1, 0, 1], float), "labels: must hold integers"),
    ("labels", np.array([0, 1, 0, HUGE], np.uint64), "labels[3]: must be at least -9223372036854775808 and below 9223372036854775808 (found 9223372036854775813)"),
    ("train_mask", np.array(True), "train_mask: must have shape (any) (found ())"),
    ("train_mask", np.ones((0, 4), bool), "train_mask: must have shape (any) (found (0, 4))"),
    ("train_mask", np.array(["a"] * 4), "train_mask: must hold numbers"),
    ("directed", np.array("no"), "directed: must hold numbers"),
]
# fmt: on


@pytest.mark.parametrize(("name", "array", "says"), NPZ)
def test_arrays_of_an_npz_that_do_not_fit(name: str, array: Any, says: str, tmp_path: Path) -> None:
    masks = {f"{part}_mask": np.eye(4, dtype=bool)[i] for i, part in enumerate(PARTS_OF_A_SPLIT)}
    arrays = {"x": np.eye(4), "edges": PAIRS, "labels": np.array([0, 1, 0, 1]), **masks}
    read_npz(arrays, tmp_path)
    with pytest.raises(InputError) as caught:
        read_npz({**arrays, name: array}, tmp_path)
    assert says in str(caught.value) and "graph.npz" in caught.value.field


@pytest.mark.parametrize("name", ["class_names", "attr_names"])
def test_names_of_no_dimension_are_none(name: str, tmp_path: Path) -> None:
    read_npz({"x": np.eye(4), "edges": PAIRS, "y": np.array([0, 1, 0, 1]), name: "a"}, tmp_path)


def test_a_file_in_an_npz_that_is_no_array(tmp_path: Path) -> None:
    np.savez(tmp_path / "graph.npz", edges=PAIRS)
    with zipfile.ZipFile(tmp_path / "graph.npz", "a") as archive:
        archive.writestr("x", b"not an array")
    with pytest.raises(InputError, match="no usable features"):
        nw.read_graph(tmp_path / "graph.npz")


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


def test_labels_that_could_not_be_counted() -> None:
    with pytest.raises(GraphError, match=r"y\[3\]: .*below 4"):
        check_graph(torch.eye(4), EDGES, torch.tensor([0, 1, 0, 10**13]))


def test_node_numbers_that_do_not_fit() -> None:
    with pytest.raises(SplitError, match=r"train\[1\]: must be at least 0 and below 2?"):
        Split(np.array([0, HUGE], np.uint64), [1], [2])
    with pytest.raises(SplitError, match=r"train\[1\]: names a node that a graph of 4 nodes"):
        hold_out([0, 4], [0, 1, 0, 1])


def test_a_cache_with_wrong_offsets_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODEWISE_CACHE", str(tmp_path))
    graph = read_planetoid(planetoid_files())
    broken = graph.x.copy()
    broken.indptr[1:-1], broken.indptr[-1] = 10**9, 0
    cache.cached("mini", (), tmp_path, lambda: replace(graph, x=broken))
    again = cache.cached("mini", (), tmp_path, lambda: graph)
    assert np.array_equal(again.x.toarray(), graph.x.toarray())


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


def whole_npz() -> Parts:
    eye = np.eye(4, dtype=bool)
    return {
        **named("attr", PARTS),
        **named("adj", PARTS),
        "labels": np.array([0, 1, 0, 1]),
        "class_names": np.array(["a", "b"]),
        "attr_names": np.array(["p", "q", "r", "s"]),
        "train_masks": eye[:2],
        "val_mask": eye[2],
        "test_mask": eye[3],
        "node_ids": np.arange(4),
        "directed": np.array(False),
    }


TYPES = ["?", "i1", "i4", "u1", "u8", ">i8", "f2", "f4", "f8", "g", "c8", "U3", "S3", "M8[s]"]
EXTREMES = [-(2**63), -1, 0, 1, 5, 10**9, 2**31, 2**63 - 1, 2**64 - 1, 1e300, np.nan, np.inf]


@st.composite
def changed(draw: st.DrawFn, array: NDArray[Any]) -> NDArray[Any]:
    """The array with another type, another entry, another length or other dimensions."""
    how = draw(st.sampled_from(["type", "entry", "length", "dimensions"]))
    array = array.copy()
    with suppress(ValueError, TypeError, OverflowError), np.errstate(all="ignore"):
        if how == "type":
            array = array.astype(draw(st.sampled_from(TYPES)))
        if how == "entry" and array.size:
            entry = draw(st.sampled_from(EXTREMES))
            array = array.astype(draw(st.sampled_from([array.dtype, "u8", "f8"])))
            array.reshape(-1)[draw(st.integers(0, array.size - 1))] = entry
        if how == "length":
            array = np.resize(array, draw(st.integers(0, 7)))
        if how == "dimensions":
            sizes = [(), (1, -1), (-1, 1), (-1,), (1, 1, -1)]
            size = draw(st.sampled_from(sizes))
            array = array.reshape(-1)[0].reshape(()) if size == () else array.reshape(size)
    return array


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("npz")


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_a_changed_npz_is_refused_or_read_whole(folder: Path, data: st.DataObject) -> None:
    arrays = whole_npz()
    for name in data.draw(st.sets(st.sampled_from(sorted(arrays)), min_size=1, max_size=2)):
        arrays[name] = data.draw(changed(arrays[name]))
    if data.draw(st.booleans()):
        arrays = {name: a for name, a in arrays.items() if not name.startswith("adj_")}
        arrays["edges"] = data.draw(st.just(PAIRS) | changed(PAIRS))
    try:
        graph = read_npz(arrays, folder)
    except NodewiseError as error:
        assert "graph.npz" in str(error) or isinstance(error, SplitError)
        assert "\n" not in str(error)
    else:
        check_graph(graph.data.x, graph.data.edge_index)
        assert list(graph.data.x.shape) == arrays["attr_shape"].tolist()
        assert graph.data.y.shape == (4,)


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
