"""Cells that a table read in blocks must not tear apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.streaming.same_store import assert_same

pytestmark = pytest.mark.usefixtures("small_blocks")


def test_a_decimal_comma_is_read() -> None:
    rows = "\n".join(f"n{i};{i},5;{i}.5;{'uv'[i % 2]}" for i in range(40))
    Path("nodes.csv").write_text(f"id;a;b;y\n{rows}\n")
    Path("edges.csv").write_text("source;target;w\nn0;n1;1,5\nn1;n2;2\nn3;n4;0,25\n")
    assert_same((Path("nodes.csv"), Path("edges.csv")), label="y", weight="w")


def test_cells_of_several_lines_and_blank_lines_are_read() -> None:
    rows = "".join(f'n{i},"a\nb, {i % 3}",{i}.5,{"uv"[i % 2]}\n\n' for i in range(60))
    Path("nodes.csv").write_text(f"id,k,a,y\n{rows}")
    Path("edges.csv").write_text("source,target\nn0,n1\nn1,n2\n")
    assert_same((Path("nodes.csv"), Path("edges.csv")), label="y")
