from __future__ import annotations

import torch

from nodewise.analysis.parts import known_split, parts_of
from nodewise.data.splits.drawn import hold_out, random_split, stratified_split
from tests.training.tasks import small_graph


def test_masks_are_the_split() -> None:
    data = small_graph()
    split = random_split(data.y, per_class=5, val=20, test=None, seed=0)
    split.apply(data)
    assert known_split(data) == known_split(data, split.sha256()) == split
    parts = parts_of(split, 60)
    assert (parts == "train").sum() == 15 and set(parts[split.test]) == {"test"}


def test_a_split_that_training_drew_is_drawn_again() -> None:
    data = small_graph()
    drawn = stratified_split(data.y)
    assert known_split(data, drawn.sha256()) == drawn
    data.train_mask = torch.zeros(60, dtype=torch.bool).index_fill(0, torch.arange(30), True)
    held = hold_out(torch.arange(30), data.y)
    assert known_split(data, held.sha256()) == held


def test_a_split_that_is_not_that_of_the_run_is_not_claimed() -> None:
    data = small_graph()
    assert known_split(data) is None and known_split(data, "0" * 64) is None
    assert set(parts_of(None, 60)) == {""}
    del data.y
    assert known_split(data, "0" * 64) is None
