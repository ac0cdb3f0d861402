"""Node numbers and masks that are not a split; `tests/data/test_checks.py` has more of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nodewise.data.splits.checks import check_apart, check_split, node_numbers, selected
from nodewise.data.splits.drawn import hold_out
from nodewise.data.splits.split import Split
from nodewise.errors import SplitError


def test_node_numbers_that_do_not_fit() -> None:
    with pytest.raises(SplitError, match=r"train\[1\]: must be at least 0 and below 2?"):
        Split(np.array([0, 2**63 + 5], np.uint64), [1], [2])
    with pytest.raises(SplitError, match=r"train\[1\]: names a node that a graph of 4 nodes"):
        hold_out([0, 4], [0, 1, 0, 1])


def test_node_numbers_are_sorted_and_cannot_be_changed() -> None:
    numbers = node_numbers("train", np.array([7, 2, 5], np.uint8))
    assert numbers.tolist() == [2, 5, 7] and numbers.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        numbers[0] = 1
    assert node_numbers("train", []).tolist() == []


@pytest.mark.parametrize(("nodes", "place"), [([3, 1, -1], 2), ([4, 1, 4, 4], 3)])
def test_the_number_that_is_wrong_is_named_where_it_was_given(nodes: list[int], place: int) -> None:
    with pytest.raises(SplitError, match=rf"val\[{place}\]: .*found {nodes[place]}"):
        node_numbers("val", nodes)


def test_lists_that_share_a_node_are_refused() -> None:
    one = node_numbers("train", [1, 5, 9])
    check_apart("train", one, "val", node_numbers("val", [2, 6]))
    with pytest.raises(SplitError, match=r"val\[1\]: shares 2 nodes with train .found 5"):
        check_apart("train", one, "val", node_numbers("val", [2, 5, 9]))


def test_a_mask_selects_the_nodes_where_it_is_true() -> None:
    assert selected("train", np.array([True, False, True])).tolist() == [0, 2]
    with pytest.raises(SplitError, match="train_mask: must be boolean"):
        selected("train", np.array([1, 0, 1]))


def test_unlabeled_nodes_may_be_in_no_part() -> None:
    masks = torch.eye(3, dtype=torch.bool)
    check_split(*masks, num_nodes=3, y=torch.tensor([0, 1, 0]))
    with pytest.raises(SplitError, match=r"val_mask\[1\]: selects a node that has no label"):
        check_split(*masks, num_nodes=3, y=torch.tensor([0, -1, 0]))
