"""Initializers of weights: each takes a tensor and fills it in place."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from nodewise.errors import UnknownNameError

Initializer = Callable[[Tensor], None]


def glorot(weight: Tensor) -> None:
    """Uniform with variance 2 / (fan_in + fan_out), as in PyTorch Geometric's layers."""
    bound = math.sqrt(6.0 / (weight.size(-1) + weight.size(-2)))
    torch.nn.init.uniform_(weight, -bound, bound)


def truncated_he(weight: Tensor) -> None:
    """Normal with variance 2 / fan_in, cut off at two deviations, as in the released program."""
    deviation = math.sqrt(2.0 / weight.size(-1))
    torch.nn.init.trunc_normal_(weight, std=deviation, a=-2 * deviation, b=2 * deviation)


def small_uniform(weight: Tensor) -> None:
    """Uniform between -0.01 and 0.01."""
    torch.nn.init.uniform_(weight, -0.01, 0.01)


def zeros(weight: Tensor) -> None:
    """All zero: with such modulators a layer equals its base conv."""
    torch.nn.init.zeros_(weight)


INITIALIZERS: dict[str, Initializer] = {
    "glorot": glorot,
    "truncated_he": truncated_he,
    "small_uniform": small_uniform,
    "zeros": zeros,
}


def initializer(name: str) -> Initializer:
    """The initializer of that name."""
    if name not in INITIALIZERS:
        raise UnknownNameError("initializer", name, INITIALIZERS)
    return INITIALIZERS[name]


def initialize(weight: Tensor, name: str) -> None:
    """Fill a weight by the initializer of that name; a lazy weight is filled with its first input.

    Raises:
        UnknownNameError: There is no such initializer.
    """
    fill = initializer(name)
    if not is_lazy(weight):
        fill(weight)
