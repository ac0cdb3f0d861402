"""Arrays of an npz file that do not fit each other, from a table and at random."""

# ruff: noqa: E501 (a table reads by its lines)
from __future__ import annotations

import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import nodewise as nw
from nodewise.data.checks import check_graph
from nodewise.data.splits.split import PARTS as PARTS_OF_A_SPLIT
from nodewise.errors import InputError, NodewiseError, SplitError
from tests.data.array_readers import Parts, named, npz_adjacency, read_npz
from tests.data.bad_arrays import HUGE, PAIRS, PARTS

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
    arrays = {"x": np.eye(4), "edges": PAIRS, "y": np.array([0, 1, 0, 1])}
    fitted = read_npz({**arrays, name: "a"}, tmp_path).preprocessing
    assert fitted.class_names == ("0", "1")
    assert fitted.feature_names == tuple(f"feature_{i}" for i in range(4))


def test_a_file_in_an_npz_that_is_no_array(tmp_path: Path) -> None:
    np.savez(tmp_path / "graph.npz", edges=PAIRS)
    with zipfile.ZipFile(tmp_path / "graph.npz", "a") as archive:
        archive.writestr("x", b"not an array")
    with pytest.raises(InputError, match="no usable features"):
        nw.read_graph(tmp_path / "graph.npz")


def test_an_adjacency_is_square_and_has_the_nodes_of_the_features(tmp_path: Path) -> None:
    wide = {**PARTS, "shape": np.array([4, 9])}
    with pytest.raises(InputError, match=r"adj_shape: must be twice 4.*found \(4, 9\)"):
        npz_adjacency(wide, tmp_path)


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
    change = draw(st.sampled_from(["type", "entry", "length", "dimensions"]))
    array = array.copy()
    with suppress(ValueError, TypeError, OverflowError), np.errstate(all="ignore"):
        if change == "type":
            array = array.astype(draw(st.sampled_from(TYPES)))
        if change == "entry" and array.size:
            entry = draw(st.sampled_from(EXTREMES))
            array = array.astype(draw(st.sampled_from([array.dtype, "u8", "f8"])))
            array.reshape(-1)[draw(st.integers(0, array.size - 1))] = entry
        if change == "length":
            array = np.resize(array, draw(st.integers(0, 7)))
        if change == "dimensions":
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
