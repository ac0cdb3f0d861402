"""Localized convolutions, their parts, and the interfaces to write further ones.

Names are imported eagerly, unlike those of `nodewise`: `localize` is a function and also a module
of this package, and with lazy imports the name could mean either. `import nodewise` imports nothing
from here until a name is used.
"""

from nodewise.nn.aggregators import (
    AggregationInputs,
    Aggregator,
    AnyAggregation,
    Gat,
    GatV2,
    GinSum,
    Messages,
    PostProcess,
    Sum,
    WeightedSum,
)
from nodewise.nn.block import Block, BlockRule
from nodewise.nn.context import Context
from nodewise.nn.film_conv import FilmConv
from nodewise.nn.levels import with_levels
from nodewise.nn.localize import localize
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.nn.modulation import Modulation, Modulations
from nodewise.nn.options import DropRates, Inits, LocalizationOptions, MessageOptions
from nodewise.nn.penalty import Penalty, PenaltyTerms

__all__ = [
    "AggregationInputs",
    "Aggregator",
    "AnyAggregation",
    "Block",
    "BlockRule",
    "Context",
    "DropRates",
    "FilmConv",
    "Gat",
    "GatV2",
    "GinSum",
    "Inits",
    "LocalizationOptions",
    "LocalizedConv",
    "MessageOptions",
    "Messages",
    "Modulation",
    "Modulations",
    "Penalty",
    "PenaltyTerms",
    "PostProcess",
    "Sum",
    "WeightedSum",
    "localize",
    "with_levels",
]
