"""The law of the sorter: it merges rows as `connect` does, whatever fits the memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from nodewise.data.streaming.edge_sort import EdgeSorter
from nodewise.data.tables.edges import connect

NODES = 7
ROWS = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=40)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rows=ROWS,
    weights=st.none() | st.integers(0, 2**31),
    directed=st.booleans(),
    most=st.integers(1, 60),
    block=st.integers(1, 50),
)
def test_edges_are_those_of_connect(
    tmp_path: Path,
    rows: list[tuple[int, int]],
    weights: int | None,
    directed: bool,
    most: int,
    block: int,
) -> None:
    ends = np.array(rows, np.int64).reshape(-1, 2).T
    weight: NDArray[np.float64] | None = None
    if weights is not None:
        weight = np.random.default_rng(weights).integers(0, 3, len(rows)) / 2
    expected = connect(ends, NODES, directed=directed, weight=weight)
    sorter = EdgeSorter(tmp_path, NODES, directed, weight is not None, most)
    for start in range(0, len(rows), block):
        part = slice(start, start + block)
        sorter.add(ends[:, part], None if weight is None else weight[part])
    blocks = list(sorter.blocks())
    degrees = np.concatenate([one.degrees for one in blocks])
    source = np.concatenate([one.row for one in blocks])
    target = np.repeat(np.arange(NODES), degrees)
    order = np.lexsort((expected.index[0], expected.index[1]))
    np.testing.assert_array_equal(np.stack([source, target]), expected.index[:, order])
    np.testing.assert_array_equal(
        np.concatenate([one.neighbors for one in blocks]), expected.degrees
    )
    counts = sorter.counts
    assert counts.dropped(directed) == expected.dropped
    assert expected.count == (counts.directed_pairs if directed else counts.pairs)
    if weight is not None and expected.weight is not None:
        ours = np.concatenate([one.weight for one in blocks if one.weight is not None])
        np.testing.assert_array_equal(ours, expected.weight[order])
        assert counts.disagreeing == expected.disagreeing
    assert list(tmp_path.iterdir()) == []


def test_no_more_is_sorted_at_a_time_than_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(0)
    sorter = EdgeSorter(tmp_path, 1000, False, False, 500)
    sorter.add(random.integers(0, 1000, (2, 5000)))
    sizes = [int(block.neighbors.sum()) for block in sorter.blocks()]
    assert len(sizes) >= 20 and max(sizes) <= 600
