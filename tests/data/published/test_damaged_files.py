"""Raw files whose arrays do not fit each other: each error names file, array, value and bound."""

# ruff: noqa: E501 (a table reads by its lines)
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from nodewise.data.published.readers import (
    read_gnn_benchmark,
    read_heterophilous,
    read_planetoid,
)
from nodewise.errors import RawFileError
from tests.data.array_readers import amazon, named
from tests.data.bad_arrays import PARTS
from tests.data.published.test_readers import heterophilous_arrays
from tests.data.raw_files import dumps, npz_file, planetoid_files


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


def test_an_adjacency_is_square_and_has_the_nodes_of_the_features() -> None:
    wide = {**PARTS, "shape": np.array([4, 9])}
    with pytest.raises(RawFileError, match=r"adj_shape: must be twice 4.*found \(4, 9\)"):
        amazon(wide, PARTS)
