"""Node numbers as callers give them, in lists, arrays, tensors, masks or a single column."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from nodewise.data.index_arrays import ArrayChecks


def node_index(name: str, given: ArrayLike | Tensor, num_nodes: int) -> NDArray[np.int64]:
    """Node numbers as int64, in the order given.

    Args:
        name: The argument, for errors.
        given: Whole numbers of shape (n,) or (n, 1), or a boolean mask of shape (num_nodes,).
        num_nodes: How many nodes the graph has.

    Raises:
        InputError: A number is not an integer, or not a node; the error has the first one.
    """
    way_out = f"give numbers from 0 to {num_nodes - 1}, the rows of x, or a mask of all nodes"
    checks = ArrayChecks(way_out=way_out)
    numbers = given.detach().cpu().numpy() if isinstance(given, Tensor) else np.asarray(given)
    if numbers.dtype.kind == "b":
        checks.array(name, numbers, kinds="b", shape=(num_nodes,))
        return np.flatnonzero(numbers).astype(np.int64)
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        numbers = numbers[:, 0]
    if numbers.dtype.kind == "f":
        numbers = _whole(name, numbers, checks)
    checks.index(name, numbers, shape=(None,), bound=num_nodes)
    return numbers.astype(np.int64)


def _whole(name: str, numbers: NDArray[np.floating], checks: ArrayChecks) -> NDArray[np.int64]:
    """Floats with integer values as integers; steps of a pipeline often give floats."""
    fraction = ~(np.abs(numbers) < 2**53) | (numbers != np.floor(numbers))  # also NaN and infinity
    if fraction.any():
        position = tuple(int(i) for i in np.argwhere(fraction)[0])
        value = float(numbers[position])
        raise checks.wrong(name, "must hold whole numbers", value=value, position=position)
    return numbers.astype(np.int64)
