"""A split for few labels, where nobody gave one: each class learns and validates."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from nodewise.data.splits import Split
from nodewise.errors import SplitError
from nodewise.randomness import FrozenRandom


def sensible_split(y: ArrayLike, seed: int = 0) -> tuple[Split, str]:
    """Draw 60 % of each class to learn from, 20 % to validate, 20 % to test.

    Each class has at least one node in each part; with two labeled nodes it has none to test. The
    same seed gives the same split on every platform.

    Args:
        y: Labels, one per node; nodes with a negative label are never drawn.
        seed: Which split.

    Returns:
        The split, and a sentence that says what was done.

    Raises:
        SplitError: There are no labels, or a class has only one.
    """
    labels = torch.as_tensor(y).cpu().numpy()
    order = FrozenRandom(seed, "sensible split").permutation(len(labels))
    members = [order[labels[order] == label] for label in np.unique(labels[labels >= 0])]
    _check(labels, members)
    parts = zip(*map(_thirds, members), strict=True)
    split = Split(*(np.concatenate(part) for part in parts))
    return split, _sentence(split, sum(len(nodes) < 3 for nodes in members), seed)


def _thirds(nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Train, validation and test nodes of one class."""
    val = max(1, round(0.2 * len(nodes)))
    test = val if len(nodes) > 2 else 0
    return nodes[val + test :], nodes[:val], nodes[val : val + test]


def _check(labels: NDArray[np.int64], members: list[NDArray[np.int64]]) -> None:
    if not members:
        raise SplitError("y", "no node has a label", value=-1, way_out="label some nodes")
    alone = next((nodes[0] for nodes in members if len(nodes) == 1), None)
    if alone is not None:
        raise SplitError(
            "y",
            "is the only node of its class, which cannot both be learned and validated",
            value=int(labels[alone]),
            position=int(alone),
            way_out="label another node of that class, or none",
        )


def _sentence(split: Split, untested: int, seed: int) -> str:
    sizes = f"{len(split.train)} train, {len(split.val)} validate, {len(split.test)} test"
    some = f"; {untested} classes of two nodes have none to test" if untested else ""
    return f"no split was given, so one was drawn within each class: {sizes} (seed {seed}){some}"
