"""Rows of edges."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.streaming.same_store import assert_same

pytestmark = pytest.mark.usefixtures("small_blocks")


def test_of_repeated_edges_the_first_weight_counts() -> None:
    """Also where the two directions of an edge alternate, in rows far from each other."""
    Path("nodes.csv").write_text("id,a,y\n1,2,u\n2,3,v\n3,4,u\n4,5,v\n")
    rows = ["2,1,0.5", "1,2,0.25", "2,1,4", "3,4,7", "4,3,7", "1,1,2", "1,2,0.25", "3,1,1"]
    Path("edges.csv").write_text("\n".join(["source,target,w", *rows]) + "\n")
    files = Path("nodes.csv"), Path("edges.csv")
    assert assert_same(files, label="y", weight="w").num_edges == 6
    assert assert_same(files, label="y", weight="w", directed=True).num_edges == 5
