"""Checks of a split, as masks or as node numbers, before a model is trained and scored."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from nodewise.data.index_arrays import ArrayChecks
from nodewise.errors import SplitError

MASKS = ("train_mask", "val_mask", "test_mask")


def check_split(
    train_mask: Tensor | None,
    val_mask: Tensor | None,
    test_mask: Tensor | None,
    *,
    num_nodes: int,
    y: Tensor | None = None,
) -> None:
    """Check three masks (nodes): booleans, no node in two of them, and each node labeled in `y`.

    Raises:
        SplitError: The masks cannot be used to train and to score a model.
    """
    masks = dict(zip(MASKS, (train_mask, val_mask, test_mask), strict=True))
    given = {name: _check_mask(name, mask, num_nodes) for name, mask in masks.items()}
    for (one, first), (other, second) in combinations(given.items(), 2):
        _check_disjoint(one, other, first & second)
    if not given["train_mask"].any():
        raise SplitError("train_mask", "selects no node", way_out="mark the nodes to learn from")
    if y is not None:
        for name, mask in given.items():
            _check_labeled(name, mask, y)


def node_numbers(name: str, nodes: ArrayLike) -> NDArray[np.int64]:
    """The nodes as ascending int64, read-only.

    Raises:
        SplitError: One is negative, not an integer, or occurs twice.
    """
    given = np.asarray(nodes)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise SplitError(
            name,
            "must be a list of integer node numbers",
            value=f"{given.dtype} of shape {given.shape}",
            way_out="use Split.from_masks for boolean masks",
        )
    if given.dtype.kind == "u":  # of which the largest would turn negative
        way_out = "number the nodes from 0 and drop repeats with numpy.unique"
        ArrayChecks(error=SplitError, way_out=way_out).index(name, given, shape=(None,))
    numbers = np.sort(given.astype(np.int64))
    wrong = np.flatnonzero((numbers < 0) | (np.diff(numbers, prepend=-1) == 0))
    if wrong.size:
        raise SplitError(
            name,
            "node numbers must be at least 0 and occur once",
            value=int(numbers[wrong[0]]),
            position=int(np.flatnonzero(given == numbers[wrong[0]])[-1]),
            way_out="number the nodes from 0 and drop repeats with numpy.unique",
        )
    numbers.flags.writeable = False
    return numbers


def check_apart(one: str, first: NDArray[np.int64], other: str, second: NDArray[np.int64]) -> None:
    """Check that two ascending lists of nodes share none.

    Raises:
        SplitError: They share one.
    """
    shared = np.intersect1d(first, second)
    if shared.size:
        raise SplitError(
            other,
            f"shares {shared.size} nodes with {one}",
            value=int(shared[0]),
            position=int(np.searchsorted(second, shared[0])),
            way_out="give every node to one of train, val and test at most",
        )


def selected(name: str, mask: ArrayLike) -> NDArray[np.int64]:
    """The numbers of the nodes that a mask selects.

    Raises:
        SplitError: It is not a mask.
    """
    given = np.asarray(mask)
    if given.ndim != 1 or given.dtype != np.bool_:
        raise SplitError(
            f"{name}_mask",
            "must be boolean and have one dimension",
            value=f"{given.dtype} of shape {given.shape}",
            way_out="take one column, mask[:, 0], of masks that hold several splits",
        )
    return np.flatnonzero(given).astype(np.int64)


def _check_mask(name: str, mask: Tensor | None, num_nodes: int) -> Tensor:
    if mask is None:
        raise SplitError(
            name, "is missing", way_out="give all three masks, or none, or apply a nodewise.Split"
        )
    if mask.dim() != 1 or mask.size(0) != num_nodes:
        raise SplitError(
            name,
            f"must have one dimension, an entry for each of the {num_nodes} nodes",
            value=tuple(mask.shape),
            way_out="take one column, mask[:, 0], of masks that hold several splits",
        )
    if mask.dtype != torch.bool:
        raise SplitError(
            name,
            "must hold booleans",
            value=mask.dtype,
            way_out="call mask.bool(), or nodewise.Split(...).apply(data) for node numbers",
        )
    return mask


def _check_disjoint(one: str, other: str, both: Tensor) -> None:
    if both.any():
        raise SplitError(
            other,
            f"overlaps {one} in {int(both.sum())} nodes",
            value=True,
            position=first_true(both),
            way_out=f"remove them from one of the two, {other} &= ~{one}",
        )


def _check_labeled(name: str, mask: Tensor, y: Tensor) -> None:
    unlabeled = mask & (y < 0)
    if unlabeled.any():
        first = first_true(unlabeled)
        raise SplitError(
            name,
            "selects a node that has no label",
            value=int(y[first]),
            position=first,
            way_out=f"leave such nodes out, {name} &= y >= 0",
        )


def first_true(found: Tensor) -> tuple[int, ...]:
    """The position of the first True."""
    return tuple(int(i) for i in found.nonzero()[0])
