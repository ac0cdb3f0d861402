from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nodewise.ops.fused.launch import cut_targets
from nodewise.ops.fused.layer import Rows


def offsets(sizes: list[int], dtype: type) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(dtype)


def works(bounds: list[int], work: list[int]) -> list[int]:
    """The work of every cut, after a look at whether the cuts are all nodes, once, in order."""
    assert bounds[0] == 0 and bounds[-1] == len(work) and bounds == sorted(bounds)
    return [sum(work[a:b]) for a, b in pairwise(bounds)]


def assert_even(found: list[int], work: list[int]) -> None:
    """No cut has more than its share, but for one node that cannot be cut itself."""
    assert max(found) <= sum(work) / len(found) + max(work, default=0) + 1


@given(st.lists(st.integers(0, 20), max_size=60), st.integers(1, 9), st.booleans())
def test_targets_are_cut_by_columns_and_edges(
    edges: list[int], cuts: int, all_columns: bool
) -> None:
    width, per_row = 40, 3
    rows = Rows(
        np.arange(11, dtype=np.int32) * per_row,
        np.zeros(10 * per_row, np.int32),
        np.zeros(10 * per_row),
        width,
        False,
    )
    bounds = list(cut_targets(rows, offsets(edges, np.int64), cuts, all_columns=all_columns))
    active = [width if all_columns else min(width, per_row * count) for count in edges]
    work = [4 * a + per_row * b for a, b in zip(active, edges, strict=True)]
    assert_even(works(bounds, work), work)


def test_a_hub_does_not_share_its_chunk() -> None:
    rows = Rows(np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1), 1, True)
    ptr = offsets([2000, *[10] * 100], np.int64)
    assert list(cut_targets(rows, ptr, 2, all_columns=False)) == [0, 1, 101]
