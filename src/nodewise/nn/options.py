"""Groups of constructor arguments that layers share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields

from torch import Tensor
from torch.nn import Module

from nodewise.errors import InputError
from nodewise.nn.context import Context
from nodewise.ops.dropconnect import check_rate


@dataclass(frozen=True)
class DropRates:
    """The share of entries that a layer drops in training.

    Attributes:
        weight: Entries of W_v, for each node separately (node-wise DropConnect).
        message: Entries of the localized messages.
    """

    weight: float = 0.0
    message: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            check_rate(f"drop_rates.{field.name}", getattr(self, field.name))


@dataclass(frozen=True)
class Inits:
    """Names of the initializers of a layer's weights; see `nodewise.nn.inits`.

    Attributes:
        weight: Initializer of W.
        modulator: Initializer of the modulators.
        bias: Initializer of the biases.
    """

    weight: str = "glorot"
    modulator: str = "truncated_he"
    bias: str = "zeros"


@dataclass(frozen=True)
class MessageOptions:
    """The bias and the activation that a layer applies to the product of W and h_u.

    Attributes:
        bias: Whether a bias is added to the product, on every edge.
        act: An activation; each layer says where it applies it.
    """

    bias: bool = False
    act: Callable[[Tensor], Tensor] | None = None


@dataclass(frozen=True)
class LocalizationOptions:
    """The details of a localization.

    Attributes:
        context: How C_v becomes c_v: "mean" (Eq. 5), "sum" (under the aggregator's weights), or any
            PyG aggregation.
        bias: Whether the context scales and shifts the bias, too (LGIN).
        edge_scale_target: The value from which the penalty measures edge scales: "one", or
            "attention", GAT's coefficients over C_v (times the size of C_v under a mean, which
            divides by it); for aggregators without attention.
        generator_row_sum: What the absolute values of a row sum to where generators see it, so that
            scales and shifts do not depend on the size of the features; 0 leaves rows as they are
            (Eqs. 5 and 7). See `nodewise.nn.generator_rows`.
    """

    context: str | Context | Module = "mean"
    bias: bool = False
    edge_scale_target: str = "one"
    generator_row_sum: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.generator_row_sum < math.inf:
            raise InputError(
                "localization.generator_row_sum",
                "must be a sum of absolute values, or 0 for rows as they are",
                value=self.generator_row_sum,
                way_out="take a number such as 0.3",
            )
