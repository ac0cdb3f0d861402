"""Cells as names and as numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nodewise.data.sources.cells import in_order, names_in, numbers_in, positions
from nodewise.data.sources.source import SourceTable
from nodewise.errors import TableError


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (["a", " b ", None], ["a", "b", ""]),
        ([1, 2, 3], ["1", "2", "3"]),
        ([1.0, None, -3.0], ["1", "", "-3"]),
        ([1.5, 2.0], ["1.5", "2"]),
        (["1.0", "1.10", "v1.0"], ["1", "1.10", "v1.0"]),
        ([True, False], ["True", "False"]),
        ([1, "1", None, (0, 1)], ["1", "1", "", "(0, 1)"]),
        (pd.Categorical(["u", "v"]), ["u", "v"]),
        (pd.array([1, None], dtype="Int64"), ["1", ""]),
    ],
)
def test_a_name_is_the_same_however_it_was_saved(cells: object, names: list[str]) -> None:
    assert names_in(pd.Series(cells)).tolist() == names


def test_whole_numbers_sort_as_numbers_and_others_as_texts() -> None:
    assert in_order(["10", "9", "-1", "9"]) == ("-1", "9", "10")
    assert in_order(["10", "9", "x"]) == ("10", "9", "x")


def test_positions_among_known_names() -> None:
    names = pd.Series(["b", "", "a", "z"], dtype="str")
    assert positions(names, ("a", "b")).tolist() == [1, -1, 0, -1]
    assert positions(names, pd.Index(["z"], dtype="str")).tolist() == [-1, -1, -1, 0]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        ([1, 2], [1, 2]),
        ([True, False], [1, 0]),
        ([True, None, False], [1, np.nan, 0]),
        (["1", " 2.5 ", "", "NA"], [1, 2.5, np.nan, np.nan]),
        (pd.array([1, None], dtype="Int64"), [1, np.nan]),
        (pd.array([0.5, None], dtype="float64[pyarrow]"), [0.5, np.nan]),
    ],
)
def test_numbers_in_a_column(cells: object, numbers: list[float]) -> None:
    table = SourceTable("t", pd.DataFrame({"a": cells}), str)
    np.testing.assert_array_equal(numbers_in(table, "a", ""), numbers)


def test_a_missing_mark_is_not_taken_for_the_bad_cell() -> None:
    table = SourceTable("t", pd.DataFrame({"a": ["1", "NA", "oops"]}), lambda row: f"row {row}")
    with pytest.raises(TableError, match=r"row 2, column 'a'.*oops.*do this"):
        numbers_in(table, "a", "do this")
