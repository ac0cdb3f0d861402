"""Arguments of PyG's convs that layers here do not have: accepted values, and alternatives.

PyG passes `flow`, `node_dim`, ... through `**kwargs`, so a layer that ignored them would compute
something else than the caller asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from nodewise.errors import InputError

_RULE = "give an aggregator with that rule: aggregator=WeightedSum(BlockRule(loops, normalization))"
_AGGREGATOR = "give it to the aggregator: aggregator=Gat(out_channels, heads, ...)"
_LOCALIZE = "localize the PyG conv that has it: nodewise.localize(conv)"
_GROUPED = "it is in a group of options now: "

# Name -> the values with which a layer does what it does anyway, and what to do for others.
_ARGUMENTS: dict[str, tuple[tuple[Any, ...], str]] = {
    "flow": (
        ("source_to_target",),
        "reverse the edges: edge_index.flip(0), or the sparse matrix transposed",
    ),
    "node_dim": ((0, -2), "make the nodes the first of two axes"),
    "decomposed_layers": ((1,), "leave it at 1; these kernels store no features per edge"),
    "aggr": ((None,), "say aggregator=..., a name, an Aggregator or a torch_geometric.nn.aggr"),
    "aggr_kwargs": (
        (None,),
        "give the module itself: aggregator=torch_geometric.nn.aggr.SoftmaxAggregation(t=0.1)",
    ),
    "cached": ((False,), "leave it out; what follows from an edge_index is cached with it"),
    "add_self_loops": ((None,), _RULE),
    "normalize": ((None,), _RULE),
    "improved": ((False,), "give WeightedSum(BlockRule('set', 'symmetric', self_weight=2.0))"),
    "negative_slope": ((0.2,), _AGGREGATOR),
    "dropout": (
        (0.0,),
        "say which: drop_rates=DropRates(weight=..., message=...), of attention "
        "aggregator=Gat(out_channels, heads, dropout=...)",
    ),
    "edge_dim": ((None,), "leave edge features out; weights of edges are given as edge_weight"),
    "fill_value": (("mean",), "leave edge features out"),
    "residual": ((False,), _LOCALIZE),
    "share_weights": ((False,), _LOCALIZE),
    "root_weight": ((False,), _LOCALIZE),
    "project": ((False,), "put the projection in front as a separate layer"),
    "nn": ((None,), _LOCALIZE),
    "eps": ((0.0,), "give the aggregator: aggregator=GinSum(eps)"),
    "train_eps": ((False,), "give the aggregator: aggregator=GinSum(train_eps=True)"),
    "num_relations": ((1,), "make a layer for each relation and add their outputs"),
    "act": ((None,), "it acts on messages here: message=MessageOptions(act=...)"),
    # Names of nodewise before 0.5.
    "context": ((), _GROUPED + "localization=LocalizationOptions(context=...)"),
    "localized_bias": ((), _GROUPED + "localization=LocalizationOptions(bias=...)"),
    "edge_scale_target": ((), _GROUPED + "localization=LocalizationOptions(edge_scale_target=...)"),
    "message_bias": ((), _GROUPED + "message=MessageOptions(bias=...)"),
    "message_act": ((), _GROUPED + "message=MessageOptions(act=...)"),
    "weight_dropout": ((), _GROUPED + "drop_rates=DropRates(weight=...)"),
    "message_dropout": ((), _GROUPED + "drop_rates=DropRates(message=...)"),
    "weight_init": ((), _GROUPED + "inits=Inits(weight=...)"),
    "modulator_init": ((), _GROUPED + "inits=Inits(modulator=...)"),
    "bias_init": ((), _GROUPED + "inits=Inits(bias=...)"),
}


def check_arguments(layer: str, arguments: Mapping[str, Any]) -> None:
    """Check that a layer may ignore these arguments.

    Args:
        layer: The name of the layer's class.
        arguments: Keyword arguments that it does not know, with their values.

    Raises:
        InputError: An argument of PyG's convs asks for something else; the error names the way.
        TypeError: An argument is not known at all.
    """
    for name, value in arguments.items():
        if name not in _ARGUMENTS:
            raise TypeError(f"{layer}() got an unexpected keyword argument {name!r}")
        harmless, way_out = _ARGUMENTS[name]
        if isinstance(value, Tensor) or value not in harmless:
            raise InputError(
                f"{layer}.{name}", "is not an argument here", value=value, way_out=way_out
            )


def check_sizes(**sizes: int | tuple[int, int]) -> None:
    """Check the sizes of a layer; those of its input may be -1, which waits for the first input.

    Args:
        **sizes: Arguments of the layer by name; a pair is for sources and targets.

    Raises:
        InputError: One is not an integer of at least 1.
    """
    for name, given in sizes.items():
        lazy = name == "in_channels"
        for size in given if isinstance(given, tuple) else (given,):
            if not isinstance(size, int) or (size < 1 and not (lazy and size == -1)):
                raise InputError(
                    name,
                    "must be an integer of at least 1"
                    + (", or -1 for the width of the first input" if lazy else ""),
                    value=size,
                    way_out="check the sizes of the layer",
                )
