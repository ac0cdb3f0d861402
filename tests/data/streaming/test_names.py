from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nodewise.data.sources.open_source import FrameSource
from nodewise.data.streaming.names import NameTable, hashes
from nodewise.errors import TableError

NODES = FrameSource("nodes", pd.DataFrame({"id": ["b", "a", "b"]})).read(())


def table_of(names: list[str], folder: Path, block: int = 3) -> NameTable:
    table = NameTable(folder)
    for start in range(0, len(names), block):
        table.add(pd.Series(names[start : start + block], dtype="str"))
    table.close(NODES, "id")
    return table


def test_names_have_the_numbers_of_their_rows(tmp_path: Path) -> None:
    names = ["b", "a", "é", "longer than the others", "", "7"]
    table = table_of(names, tmp_path)
    asked = pd.Series(["7", "é", "none", "a", "e", "b", ""], dtype="str")
    assert table.numbers(asked).tolist() == [5, 2, -1, 1, -1, 0, 4]
    assert table.numbers(asked[3:4]).tolist() == [1]
    assert table.numbers(asked[:0]).tolist() == []


def test_a_repeated_name_is_refused_with_both_rows(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"row 2.*is the id of row 0 too \(found 'b'\)"):
        table_of(["b", "a", "b"], tmp_path)


def test_names_with_equal_hashes_are_compared_by_their_bytes(tmp_path: Path) -> None:
    names = np.array([f"n{i}" for i in range(300_000)])
    upper = hashes(pd.Series(names)) >> np.uint64(32)  # all that a slot keeps of a hash
    order = np.argsort(upper, kind="stable")
    twins = np.flatnonzero(np.diff(upper[order]) == 0)
    assert len(twins) >= 3
    for twin in twins:
        one, other = names[order[twin]], names[order[twin + 1]]
        both = pd.Series([one, other])
        assert table_of([one, other], tmp_path).numbers(both).tolist() == [0, 1]
        assert table_of([other], tmp_path).numbers(both).tolist() == [-1, 0]


def test_names_in_any_number_are_found(tmp_path: Path) -> None:
    names = pd.Series(np.random.default_rng(0).permutation(20_000).astype(str))
    table = table_of(names.tolist(), tmp_path, block=777)
    np.testing.assert_array_equal(table.numbers(names[::-1]), np.arange(20_000)[::-1])
    assert (table.numbers(names + "x") == -1).all()
