"""Splits that are drawn: random, within each class, or validation nodes held out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from nodewise.data.splits.checks import node_numbers
from nodewise.data.splits.ratio import RATIO, shares_of
from nodewise.data.splits.split import Split, check_below
from nodewise.errors import SplitError
from nodewise.randomness import FrozenRandom

_FEW, _FEW_OF = 20, 40  # training nodes of a class, and how many it must have for that


def random_split(
    y: ArrayLike,
    per_class: int = 20,
    val: int = 500,
    test: int | None = 1000,
    seed: int = 0,
) -> Split:
    """Draw a split: the same seed gives the same split on every platform and NumPy version.

    Args:
        y: Labels, one per node; nodes with a negative label are never drawn.
        per_class: Training nodes of each class.
        val: Validation nodes, of any class.
        test: Test nodes, of any class; None takes all that are left.
        seed: Which split.

    Raises:
        SplitError: There are fewer labels than that.
    """
    _check_sizes(per_class=per_class, val=val, test=test or 0)
    labels = torch.as_tensor(y).cpu().numpy()
    order = FrozenRandom(seed, "split").permutation(len(labels))
    order = order[labels[order] >= 0]
    train = _first_of_each_class(labels, order, per_class)
    rest = order[~np.isin(order, train)]
    test = len(rest) - val if test is None else test
    if val + test > len(rest) or test < 0:
        raise SplitError(
            "y",
            f"{val} validation and {max(test, 0)} test nodes are requested, but {len(rest)} labels "
            f"are left after {len(train)} training nodes",
            value=len(rest),
            way_out="ask for fewer, or test=None for the rest",
        )
    return Split(train, rest[:val], rest[val : val + test])


def hold_out(train: ArrayLike, y: ArrayLike, test: ArrayLike = (), share: int = 5) -> Split:
    """A split whose validation nodes are taken from the training nodes: one in `share` per class.

    A class with a single training node keeps it. The same nodes give the same split.

    Raises:
        SplitError: No class has two training nodes, so that nothing could be held out.
    """
    nodes, labels = node_numbers("train", train), torch.as_tensor(y).cpu().numpy()
    check_below("train", nodes, len(labels))
    order = nodes[FrozenRandom(0, "hold out").permutation(len(nodes))]
    held = [
        members[: max(1, len(members) // share)]
        for members in (order[labels[order] == label] for label in np.unique(labels[order]))
        if len(members) > 1
    ]
    if not held:
        raise SplitError(
            "train",
            "no class has two nodes, so that none can be held out for validation",
            way_out="name validation nodes, or label more",
        )
    val = np.concatenate(held)
    return Split(nodes[~np.isin(nodes, val)], val, node_numbers("test", test))


def few_labels_split(y: ArrayLike, seed: int = 0) -> Split:
    """Draw 20 training nodes of each class, 500 validation nodes, and test on the rest.

    With fewer than 3,000 labels, a sixth of them are validation nodes.

    Args:
        y: Labels, one per node; nodes with a negative label are never drawn.
        seed: Which split.

    Raises:
        SplitError: A class has fewer than 40 nodes.
    """
    counts = torch.bincount((labels := torch.as_tensor(y).cpu())[labels >= 0])
    if counts.numel() and int(counts.min()) < _FEW_OF:
        raise SplitError(
            "y",
            f"few labels are {_FEW} training nodes of each class and as many to score, but class "
            f"{int(counts.argmin())} has {int(counts.min())} nodes",
            value=int(counts.min()),
            way_out="draw the split 'many', which takes 60 % of each class",
        )
    labeled = int(counts.sum())
    return random_split(y, _FEW, 500 if labeled >= 3000 else labeled // 6, None, seed)


def many_labels_split(y: ArrayLike, seed: int = 0) -> Split:
    """Draw 60 % of each class to train on, 20 % to validate, 20 % to test: `stratified_split`."""
    return stratified_split(y, seed)


# Splits that any graph with enough labels can have, by the names that `--split` takes.
NAMED_SPLITS: Final[dict[str, Callable[[ArrayLike, int], Split]]] = {
    "few": few_labels_split,
    "many": many_labels_split,
}


def stratified_split(y: ArrayLike, seed: int = 0, ratio: str = RATIO) -> Split:
    """Draw 60 % of each class to train on, 20 % to validate, 20 % to test, or in another ratio.

    Each class has at least one node in each part; with two labeled nodes it has none to test. The
    same seed gives the same split on every platform.

    Args:
        y: Labels, one per node; nodes with a negative label are never drawn.
        seed: Which split.
        ratio: Training, validation and test nodes, three numbers such as 80/10/10.

    Raises:
        SplitError: There are no labels, a class has only one, or the ratio is none.
    """
    _, val, test = shares_of(ratio)
    labels = torch.as_tensor(y).cpu().numpy()
    # The name is part of the seed: another one would draw other splits.
    order = FrozenRandom(seed, "sensible split").permutation(len(labels))
    members = [order[labels[order] == label] for label in np.unique(labels[labels >= 0])]
    _check_members(labels, members)
    parts = zip(*(_three_parts(nodes, val, test) for nodes in members), strict=True)
    return Split(*(np.concatenate(part) for part in parts))


def describe_drawn(split: Split, y: ArrayLike, seed: int) -> str:
    """A sentence on a split that `stratified_split` drew because there was none.

    Args:
        split: The split.
        y: The labels that it was drawn from.
        seed: Which split it is.
    """
    labels = torch.as_tensor(y).cpu().numpy()
    untested = len(np.setdiff1d(labels[split.val], labels[split.test]))
    sizes = f"{len(split.train)} train, {len(split.val)} validate, {len(split.test)} test"
    some = f"; {untested} classes of two nodes have none to test" if untested else ""
    return f"no split was given, so one was drawn within each class: {sizes} (seed {seed}){some}"


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 0:
            raise SplitError(name, "is a count of nodes", value=size, way_out="give 0 or more")


def _first_of_each_class(
    labels: NDArray[Any], order: NDArray[np.int64], per_class: int
) -> NDArray[np.int64]:
    chosen = [np.empty(0, np.int64)]
    for label in np.unique(labels[order]):
        members = order[labels[order] == label]
        if len(members) < per_class:
            raise SplitError(
                "y",
                f"{per_class} training nodes per class are requested, but class {label} has "
                f"{len(members)}",
                value=len(members),
                way_out=f"ask for per_class={len(members)} or fewer, or label more nodes",
            )
        chosen.append(members[:per_class])
    return np.concatenate(chosen)


def _three_parts(
    nodes: NDArray[np.int64], val_share: float, test_share: float
) -> tuple[NDArray[np.int64], ...]:
    """Train, validation and test nodes of one class; each has one, from three nodes on."""
    count = len(nodes)
    val = max(1, min(round(val_share * count), count - 2))
    test = max(1, min(round(test_share * count), count - val - 1)) if count > 2 else 0
    return nodes[val + test :], nodes[:val], nodes[val : val + test]


def _check_members(labels: NDArray[np.int64], members: list[NDArray[np.int64]]) -> None:
    if not members:
        raise SplitError("y", "no node has a label", value=-1, way_out="label some nodes")
    alone = next((nodes[0] for nodes in members if len(nodes) == 1), None)
    if alone is not None:
        raise SplitError(
            "y",
            "is the only node of its class, which needs one to train on and one to validate on",
            value=int(labels[alone]),
            position=int(alone),
            way_out="label another node of that class, or none",
        )
