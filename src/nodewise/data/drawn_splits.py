"""Splits that are drawn: random, within each class, or validation nodes held out."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from nodewise.data.split_checks import node_numbers
from nodewise.data.splits import Split, check_below
from nodewise.errors import SplitError
from nodewise.randomness import FrozenRandom


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
            f"{val} validation and {max(test, 0)} test nodes are asked for, but {len(rest)} labels "
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


def sensible_split(y: ArrayLike, seed: int = 0) -> tuple[Split, str]:
    """Draw 60 % of each class to train on, 20 % to validate, 20 % to test.

    Each class has at least one node in each part; with two labeled nodes it has none to test. The
    same seed gives the same split on every platform.

    Args:
        y: Labels, one per node; nodes with a negative label are never drawn.
        seed: Which split.

    Returns:
        The split, and a sentence that describes it.

    Raises:
        SplitError: There are no labels, or a class has only one.
    """
    labels = torch.as_tensor(y).cpu().numpy()
    order = FrozenRandom(seed, "sensible split").permutation(len(labels))
    members = [order[labels[order] == label] for label in np.unique(labels[labels >= 0])]
    _check_members(labels, members)
    parts = zip(*map(_three_parts, members), strict=True)
    split = Split(*(np.concatenate(part) for part in parts))
    return split, _sentence(split, sum(len(nodes) < 3 for nodes in members), seed)


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
                f"{per_class} training nodes per class are asked for, but class {label} has "
                f"{len(members)}",
                value=len(members),
                way_out=f"ask for per_class={len(members)} or fewer, or label more nodes",
            )
        chosen.append(members[:per_class])
    return np.concatenate(chosen)


def _three_parts(nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Train, validation and test nodes of one class."""
    val = max(1, round(0.2 * len(nodes)))
    test = val if len(nodes) > 2 else 0
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


def _sentence(split: Split, untested: int, seed: int) -> str:
    sizes = f"{len(split.train)} train, {len(split.val)} validate, {len(split.test)} test"
    some = f"; {untested} classes of two nodes have none to test" if untested else ""
    return f"no split was given, so one was drawn within each class: {sizes} (seed {seed}){some}"
