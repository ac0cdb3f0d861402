"""A split for few labels: each class learns and validates."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import nodewise as nw
from nodewise.errors import SplitError


@given(st.lists(st.integers(2, 40), min_size=2, max_size=5), st.integers(0, 3))
def test_every_class_learns_validates_and_tests_from_three_nodes_on(
    sizes: list[int], seed: int
) -> None:
    y = np.repeat(np.arange(-1, len(sizes)), [7, *sizes])
    split, sentence = nw.sensible_split(torch.from_numpy(y), seed)
    for label, size in enumerate(sizes):
        train, val, test = (int((y[nodes] == label).sum()) for _, nodes in split)
        assert train + val + test == size and train >= 1 and val >= 1 and (test >= 1 or size == 2)
        assert abs(val - 0.2 * size) <= 1 and abs(test - 0.2 * size) <= 1
    assert f"{len(split.train)} train" in sentence and f"seed {seed}" in sentence
    assert (y[np.concatenate([nodes for _, nodes in split])] >= 0).all()


def test_sixty_twenty_twenty_within_each_class() -> None:
    split, _ = nw.sensible_split(np.repeat([0, 1], [50, 10]))
    assert [len(nodes) for _, nodes in split] == [36, 12, 12]


def test_the_seed_decides_and_nothing_else() -> None:
    y = np.arange(60) % 3
    first, again, other = (nw.sensible_split(y, seed)[0] for seed in (0, 0, 1))
    assert first == again and first != other


def test_a_split_stays_what_it_was() -> None:
    # A changed draw would silently change every result that was made with it.
    split, _ = nw.sensible_split(np.arange(12) % 2, seed=0)
    assert split.sha256()[:12] == "0eff45dae217"


def test_classes_of_two_nodes_are_told() -> None:
    _, sentence = nw.sensible_split([0, 0, 1, 1, 1])
    assert "1 classes of two nodes have none to test" in sentence


@pytest.mark.parametrize(("y", "said"), [([0, 0, 1], "only node"), ([-1, -1], "no node has a")])
def test_labels_that_cannot_be_split(y: list[int], said: str) -> None:
    with pytest.raises(SplitError, match=said):
        nw.sensible_split(y)
