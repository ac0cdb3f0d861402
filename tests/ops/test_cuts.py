from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nodewise.ops.fused.launch import cut_targets
from nodewise.ops.fused.layer import ActiveColumns, Rows


def offsets(sizes: list[int], dtype: type) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(dtype)


def works(bounds: list[int], work: list[int]) -> list[int]:
    """The work of every cut, after a look at whether the cuts are all nodes, once, in order."""
    assert bounds[0] == 0 and bounds[-1] == len(work) and bounds == sorted(bounds)
    return [sum(work[a:b]) for a, b in pairwise(bounds)]


def assert_even(found: list[int], work: list[int]) -> None:
    """No cut has more than its share, but for one node that cannot be cut itself."""
    assert max(found) <= sum(work) / len(found) + max(work, default=0) + 1


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 20)), max_size=60),
    st.integers(1, 9),
    st.booleans(),
)
def test_targets_are_cut_by_columns_and_edges(
    targets: list[tuple[int, int]], cuts: int, everywhere: bool
) -> None:
    width, per_row = 40, 3
    rows = Rows(
        np.arange(11, dtype=np.int32) * per_row,
        np.zeros(10 * per_row, np.int32),
        np.zeros(10 * per_row),
        width,
        False,
    )
    seen, edges = [seen for seen, _ in targets], [edges for _, edges in targets]
    columns = ActiveColumns(offsets(seen, np.int32), np.zeros(sum(seen), np.int32))
    if everywhere:
        seen = [width] * len(targets)
        columns = ActiveColumns(np.zeros(1, np.int32), np.arange(width, dtype=np.int32))
    ptr = offsets(edges, np.int64)
    bounds = list(cut_targets(rows, columns, ptr, cuts))
    work = [4 * a + per_row * b for a, b in zip(seen, edges, strict=True)]
    assert_even(works(bounds, work), work)


def test_a_hub_does_not_share_its_chunk() -> None:
    rows = Rows(np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1), 1, True)
    columns = ActiveColumns(offsets([0] * 101, np.int32), np.zeros(0, np.int32))
    assert list(cut_targets(rows, columns, offsets([2000, *[10] * 100], np.int64), 2)) == [
        0,
        1,
        101,
    ]
