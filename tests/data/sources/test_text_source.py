"""Text tables: what cells become, and which lines they stand on."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodewise.data.sources.open_source import open_source
from nodewise.errors import TableError


def read(folder: Path, text: str, *as_text: str):  # type: ignore[no-untyped-def]
    (folder / "t.csv").write_text(text, newline="")
    return open_source(folder / "t.csv", "nodes").read(as_text)


def test_names_stay_as_written_where_they_are_asked_as_text(tmp_path: Path) -> None:
    table = read(tmp_path, "a,b\n007,007\n010,010\n", "a")
    assert table.frame.a.tolist() == ["007", "010"] and table.frame.b.tolist() == [7, 10]


def test_a_type_is_inferred_from_all_cells(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i}\n" for i in range(300_000))
    table = read(tmp_path, f"a,b\n{rows}x,0.5\n")
    assert table.frame.a.iloc[0] == "0" and table.frame.b.iloc[-1] == 0.5


def test_numbers_that_are_missing_are_written_in_many_ways(tmp_path: Path) -> None:
    table = read(tmp_path, "a,b\nx,\ny,NA\nz,NaN\nu,null\nv,1\n")
    assert table.frame.b.isna().tolist() == [True, True, True, True, False]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_know_their_lines(tmp_path: Path, end: str) -> None:
    lines = ["", "a,b", "1,2", "", '3,"4', '5"', "6,7"]
    table = read(tmp_path, end.join(lines) + end)
    assert [table.place(row) for row in range(3)] == ["line 3", "line 5", "line 7"]


def test_a_cell_beyond_the_limit_of_the_csv_module_leaves_the_row(tmp_path: Path) -> None:
    table = read(tmp_path, f"a,b\n1,{'x' * 200_000}\n2,y\n")
    assert table.place(1) == "row 2"


def test_a_lone_quote_within_a_cell_is_harmless(tmp_path: Path) -> None:
    table = read(tmp_path, 'a,b\n1,5" long\n2,x\n')
    assert table.frame.b.tolist() == ['5" long', "x"]


def test_a_file_that_changed_since_it_was_opened(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    source = open_source(tmp_path / "t.csv", "nodes")
    (tmp_path / "t.csv").unlink()
    with pytest.raises(TableError, match="cannot be read"):
        source.read(())
