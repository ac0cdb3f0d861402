"""Splits that are drawn: random, held out, and one for few labels."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import nodewise as nw
from nodewise.data.splits.drawn import describe_drawn, few_labels_split, hold_out, random_split
from nodewise.errors import SplitError

LABELS = np.arange(2000) % 4


@given(st.lists(st.integers(2, 40), min_size=2, max_size=5), st.integers(0, 3))
def test_every_class_learns_validates_and_tests_from_three_nodes_on(
    sizes: list[int], seed: int
) -> None:
    y = np.repeat(np.arange(-1, len(sizes)), [7, *sizes])
    split = nw.stratified_split(torch.from_numpy(y), seed)
    sentence = describe_drawn(split, y, seed)
    for label, size in enumerate(sizes):
        train, val, test = (int((y[nodes] == label).sum()) for _, nodes in split)
        assert train + val + test == size and train >= 1 and val >= 1 and (test >= 1 or size == 2)
        assert abs(val - 0.2 * size) <= 1 and abs(test - 0.2 * size) <= 1
    assert f"{len(split.train)} train" in sentence and f"seed {seed}" in sentence
    assert (y[np.concatenate([nodes for _, nodes in split])] >= 0).all()


def test_sixty_twenty_twenty_within_each_class() -> None:
    split = nw.stratified_split(np.repeat([0, 1], [50, 10]))
    assert [len(nodes) for _, nodes in split] == [36, 12, 12]


@given(st.lists(st.integers(3, 30), min_size=2, max_size=4), st.sampled_from(["1/9/9", "98/1/1"]))
def test_in_any_ratio_every_class_has_a_node_in_every_part(sizes: list[int], ratio: str) -> None:
    y = np.repeat(np.arange(len(sizes)), sizes)
    split = nw.stratified_split(y, ratio=ratio)
    assert all(len(set(y[nodes])) == len(sizes) for _, nodes in split)
    assert sum(len(nodes) for _, nodes in split) == len(y)


def test_another_ratio() -> None:
    y = np.repeat([0, 1], [50, 10])
    split = nw.stratified_split(y, ratio="8/1/1")
    assert [len(nodes) for _, nodes in split] == [48, 6, 6]
    assert nw.stratified_split(y, ratio="0.6/0.2/0.2") == nw.stratified_split(y)


@pytest.mark.parametrize(("nodes", "val"), [(2994, 499), (3000, 500), (6000, 500)])
def test_few_labels(nodes: int, val: int) -> None:
    y = np.append(np.arange(nodes) % 3, [-1] * 100)
    split = few_labels_split(y, 1)
    assert np.bincount(y[split.train]).tolist() == [20] * 3
    assert (len(split.val), len(split.test)) == (val, nodes - 60 - val)
    assert split == few_labels_split(torch.as_tensor(y), 1) != few_labels_split(y, 2)


def test_few_labels_need_forty_nodes_of_each_class() -> None:
    with pytest.raises(SplitError, match=r"class 1 has 39 nodes.*the split 'many'"):
        few_labels_split(np.repeat([0, 1, 2], [50, 39, 45]))
    few_labels_split(np.repeat([0, 1], [50, 40]))


def test_the_seed_decides_and_nothing_else() -> None:
    y = np.arange(60) % 3
    first, again, other = (nw.stratified_split(y, seed) for seed in (0, 0, 1))
    assert first == again and first != other


def test_a_split_stays_what_it_was() -> None:
    # A changed draw would silently change every result that was made with it.
    split = nw.stratified_split(np.arange(12) % 2, seed=0)
    assert split.sha256()[:12] == "0eff45dae217"


def test_classes_of_two_nodes_are_reported() -> None:
    y = [0, 0, 1, 1, 1]
    sentence = describe_drawn(nw.stratified_split(y), y, 0)
    assert "1 classes of two nodes have none to test" in sentence


@pytest.mark.parametrize(("y", "problem"), [([0, 0, 1], "only node"), ([-1, -1], "no node has a")])
def test_labels_that_cannot_be_split(y: list[int], problem: str) -> None:
    with pytest.raises(SplitError, match=problem):
        nw.stratified_split(y)


def test_random_split_has_the_sizes_asked_for() -> None:
    split = random_split(LABELS, per_class=20, val=500, test=1000, seed=0)
    assert np.bincount(LABELS[split.train]).tolist() == [20] * 4
    assert (len(split.val), len(split.test)) == (500, 1000)


def test_random_split_is_the_same_for_good() -> None:
    split = random_split(LABELS, seed=7)
    assert split.sha256() == "6e1dd80679f8d475a26586a3545695198d6869b7d80f357b0e2ffe5499248a76"
    assert split == random_split(torch.as_tensor(LABELS), seed=7)
    assert split != random_split(LABELS, seed=8)


def test_test_none_takes_the_rest_and_unlabeled_nodes_are_never_drawn() -> None:
    labels = np.where(np.arange(2000) < 300, -1, LABELS)
    split = random_split(labels, val=100, test=None)
    drawn = np.concatenate([split.train, split.val, split.test])
    assert sorted(drawn.tolist()) == list(range(300, 2000))


def test_a_fifth_of_each_class_is_held_out_for_validation() -> None:
    y = torch.tensor([0] * 10 + [1] * 5 + [2] + [-1] * 4)
    split = hold_out(range(16), y, test=[16, 17])
    assert sorted(y[split.val.tolist()].tolist()) == [0, 0, 1]
    assert sorted([*split.train, *split.val]) == list(range(16))
    assert split.test.tolist() == [16, 17]
    assert split == hold_out(range(16), y, test=[16, 17])


def test_nothing_can_be_held_out_of_single_nodes() -> None:
    with pytest.raises(SplitError, match="no class has two nodes"):
        hold_out([0, 1], torch.tensor([0, 1]))
