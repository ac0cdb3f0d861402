from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from nodewise.data.node_index import node_index
from nodewise.errors import InputError


@pytest.mark.parametrize(
    "given",
    [
        [3, 1],
        (3, 1),
        np.array([3, 1], np.uint8),
        np.array([[3], [1]]),
        np.array([3.0, 1.0]),
        torch.tensor([3, 1]),
    ],
)
def test_numbers_keep_their_order(given: Any) -> None:
    index = node_index("index", given, 4)
    assert index.tolist() == [3, 1] and index.dtype == np.int64


def test_masks_and_empty_lists_are_numbers_too() -> None:
    mask = torch.tensor([False, True, False, True])
    assert node_index("index", mask, 4).tolist() == [1, 3]
    assert node_index("index", mask.tolist(), 4).tolist() == [1, 3]
    assert node_index("index", [], 4).tolist() == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0, 1.5], r"index\[1\]: must hold whole numbers \(found 1.5\); give numbers from 0 to 3"),
        ([0, np.nan], r"index\[1\]: must hold whole numbers \(found nan\)"),
        ([1e300], r"index\[0\]: must hold whole numbers"),
        ([0, 4], r"index\[1\]: must be at least 0 and below 4 \(found 4\)"),
        ([-1, 0], r"index\[0\]: must be at least 0 and below 4 \(found -1\)"),
        ([True, False], r"index: must have shape \(4\)"),
        ([[0, 1], [2, 3]], r"index: must have shape \(any\)"),
        (["0"], r"index: must hold integers"),
        (2, r"index: must have shape \(any\)"),
    ],
)
def test_what_is_no_node_is_named_with_its_bound(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        node_index("index", given, 4)
