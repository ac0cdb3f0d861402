"""Arrays that are not a compressed sparse matrix, or no indices: one table for all that read them."""

# ruff: noqa: E501 (a table reads by its lines)
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

MATRIX = csr_matrix(np.array([[1, 0, 2, 0], [0, 0, 3, 0], [4, 0, 0, 0], [0, 5, 0, 0]], np.float32))
PARTS = {
    "data": MATRIX.data,
    "indices": MATRIX.indices,
    "indptr": MATRIX.indptr,
    "shape": np.array(MATRIX.shape),
}
HUGE = np.uint64(2**63 + 5)


class Bad(NamedTuple):
    name: str
    part: str
    array: Any
    says: str

    @property
    def parts(self) -> dict[str, Any]:
        return {**PARTS, self.part: self.array}


def with_entry(part: str, position: int, value: Any, dtype: Any = np.int64) -> Any:
    array = PARTS[part].astype(dtype)
    array[position] = value
    return array


# MATRIX has indptr 0 2 3 4 5 and indices 0 2 2 0 1.
# fmt: off
BAD_MATRICES = [
    Bad("float indptr", "indptr", PARTS["indptr"].astype(float), "integers (found 'float64')"),
    Bad("NaN indptr", "indptr", with_entry("indptr", 2, np.nan, float), "integers (found 'float64')"),
    Bad("bool indptr", "indptr", PARTS["indptr"].astype(bool), "integers (found 'bool')"),
    Bad("object indptr", "indptr", PARTS["indptr"].astype(object), "integers (found 'object')"),
    Bad("complex indptr", "indptr", PARTS["indptr"].astype(complex), "integers (found 'complex128')"),
    Bad("text indptr", "indptr", PARTS["indptr"].astype(str), "integers (found '<U"),
    Bad("indptr below 0", "indptr", with_entry("indptr", 0, -1), "[0]: must begin with 0 (found -1)"),
    Bad("indptr from 1", "indptr", with_entry("indptr", 0, 1), "[0]: must begin with 0 (found 1)"),
    Bad("indptr that decreases", "indptr", with_entry("indptr", 1, 4), "[2]: must never decrease, and 4 comes before (found 3)"),
    Bad("indptr with a negative", "indptr", with_entry("indptr", 2, -3), "[2]: must never decrease, and 2 comes before (found -3)"),
    Bad("indptr that ends at 0", "indptr", np.array([0, 10**9, 10**9, 10**9, 0]), "[4]: must never decrease, and 1000000000 comes before (found 0)"),
    Bad("indptr that ends early", "indptr", with_entry("indptr", 4, 4), "[4]: must end with 5, the count of entries (found 4)"),
    Bad("indptr that ends late", "indptr", with_entry("indptr", 4, 10**9), "[4]: must end with 5, the count of entries (found 1000000000)"),
    Bad("unsigned indptr that decreases", "indptr", with_entry("indptr", 1, HUGE, np.uint64), "[2]: must never decrease, and 9223372036854775813 comes before (found 3)"),
    Bad("huge end of indptr", "indptr", with_entry("indptr", 4, HUGE, np.uint64), "must end with 5, the count of entries (found 9223372036854775813)"),
    Bad("short indptr", "indptr", np.array([0, 2, 3, 5]), "shape (5) (found (4,))"),
    Bad("long indptr", "indptr", np.array([0, 2, 3, 4, 5, 5]), "shape (5) (found (6,))"),
    Bad("2-d indptr", "indptr", PARTS["indptr"][None], "shape (5) (found (1, 5))"),
    Bad("0-d indptr", "indptr", np.array(0), "shape (5) (found ())"),
    Bad("empty indptr", "indptr", np.empty(0, np.int64), "shape (5) (found (0,))"),
    Bad("negative index", "indices", with_entry("indices", 3, -1), "[3]: must be at least 0 and below 4 (found -1)"),
    Bad("index too large", "indices", with_entry("indices", 1, 4), "[1]: must be at least 0 and below 4 (found 4)"),
    Bad("huge index", "indices", with_entry("indices", 4, HUGE, np.uint64), "[4]: must be at least 0 and below 4 (found 9223372036854775813)"),
    Bad("float indices", "indices", PARTS["indices"].astype(np.float32), "integers (found 'float32')"),
    Bad("bool indices", "indices", PARTS["indices"].astype(bool), "integers (found 'bool')"),
    Bad("object indices", "indices", PARTS["indices"].astype(object), "integers (found 'object')"),
    Bad("short indices", "indices", PARTS["indices"][:-1], "shape (5) (found (4,))"),
    Bad("long indices", "indices", np.zeros(6, np.int64), "shape (5) (found (6,))"),
    Bad("2-d indices", "indices", PARTS["indices"][:, None], "shape (5) (found (5, 1))"),
    Bad("0-d indices", "indices", np.array(1), "shape (5) (found ())"),
    Bad("empty indices", "indices", np.empty(0, np.int64), "shape (5) (found (0,))"),
    Bad("short data", "data", PARTS["data"][:-1], "indices: must have shape (4) (found (5,))"),
    Bad("long data", "data", np.ones(6, np.float32), "indices: must have shape (6) (found (5,))"),
    Bad("2-d data", "data", PARTS["data"][None], "shape (any) (found (1, 5))"),
    Bad("0-d data", "data", np.array(1.0), "shape (any) (found ())"),
    Bad("empty data", "data", np.empty(0, np.float32), "indices: must have shape (0) (found (5,))"),
    Bad("text data", "data", PARTS["data"].astype(str), "numbers (found '<U"),
    Bad("object data", "data", PARTS["data"].astype(object), "numbers (found 'object')"),
    Bad("complex data", "data", PARTS["data"].astype(complex), "numbers (found 'complex128')"),
    Bad("negative rows", "shape", np.array([-4, 4]), "from 0 to 2147483647 (found '[-4, 4]')"),
    Bad("negative columns", "shape", np.array([4, -1]), "from 0 to 2147483647 (found '[4, -1]')"),
    Bad("float shape", "shape", np.array([4.0, 4.0]), "two whole numbers, rows and columns, from 0 to 2147483647 (found '[4.0, 4.0]')"),
    Bad("NaN shape", "shape", np.array([4.0, np.nan]), "(found '[4.0, nan]')"),
    Bad("bool shape", "shape", np.array([True, True]), "(found '[True, True]')"),
    Bad("shape of one", "shape", np.array([4]), "(found '[4]')"),
    Bad("shape of three", "shape", np.array([4, 4, 1]), "two whole numbers"),
    Bad("0-d shape", "shape", np.array(4), "(found '4')"),
    Bad("2-d shape", "shape", np.array([[4], [4]]), "(found '[[4], [4]]')"),
    Bad("empty shape", "shape", np.empty(0, np.int64), "(found '[]')"),
    Bad("huge shape", "shape", np.array([4, HUGE], np.uint64), "two whole numbers"),
    Bad("absurd rows", "shape", np.array([2**40, 4]), "two whole numbers"),
    Bad("absurd columns", "shape", np.array([4, 2**40]), "two whole numbers"),
    Bad("more rows", "shape", np.array([5, 4]), "indptr: must have shape (6) (found (5,))"),
    Bad("fewer rows", "shape", np.array([3, 4]), "indptr: must have shape (4) (found (5,))"),
    Bad("no rows", "shape", np.array([0, 4]), "indptr: must have shape (1) (found (5,))"),
    Bad("fewer columns", "shape", np.array([4, 2]), "indices[1]: must be at least 0 and below 2 (found 2)"),
    Bad("no columns", "shape", np.array([4, 0]), "indices[0]: must be at least 0 and below 0 (found 0)"),
]
# fmt: on
PAIRS = np.array([[0, 1], [1, 2], [2, 3]])


def pairs(row: int, column: int, value: Any, dtype: Any = np.int64) -> Any:
    array = PAIRS.astype(dtype)
    array[row, column] = value
    return array


# fmt: off
BAD_PAIRS = [
    ("negative", pairs(1, 0, -1), "must be at least 0 and below 4 (found -1)"),
    ("too large", pairs(2, 1, 4), "must be at least 0 and below 4 (found 4)"),
    ("huge", pairs(0, 1, HUGE, np.uint64), "must be at least 0 and below 4 (found 9223372036854775813)"),
    ("float", PAIRS.astype(float), "must hold integers (found 'float64')"),
    ("NaN", pairs(0, 0, np.nan, float), "must hold integers (found 'float64')"),
    ("bool", PAIRS.astype(bool), "must hold integers (found 'bool')"),
    ("complex", PAIRS.astype(complex), "must hold integers (found 'complex128')"),
    ("text", PAIRS.astype(str), "must hold integers (found '<U"),
    ("1-d", PAIRS[0], "must have shape ("),
    ("0-d", np.array(1), "must have shape ("),
    ("empty", np.empty(0, np.int64), "must have shape ("),
    ("3-d", PAIRS[None], "must have shape ("),
    ("triples", np.zeros((3, 3), np.int64), "must have shape ("),
]
# fmt: on
