"""A PyG conv -> its localized twin, weights copied.

What is localized is the weight that acts on neighbors; C_v is what the conv aggregates over. The
modulators start at zero, so the twin computes what its base computes until it is trained.
"""

from __future__ import annotations

from copy import deepcopy
from functools import singledispatch
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import Linear, Module, Parameter, Sequential
from torch_geometric import nn as pyg
from torch_geometric.nn.inits import reset

from nodewise.errors import InputError
from nodewise.nn.aggregators import (
    AggregationInputs,
    Aggregator,
    Gat,
    GatV2,
    GinSum,
    Messages,
    PostProcess,
    WeightedSum,
)
from nodewise.nn.aggregators.base import project_targets
from nodewise.nn.block import BlockRule
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.nn.options import Inits, LocalizationOptions, MessageOptions


class WithRoot(Aggregator):
    """Another aggregator, plus a separate weight for the node itself (SAGE, GraphConv)."""

    def __init__(self, aggregator: Aggregator, root: Any) -> None:
        super().__init__()
        self.rule, self.aggregator, self.root = aggregator.rule, aggregator, root

    def reset_parameters(self) -> None:
        """Initialize both again."""
        self.aggregator.reset_parameters()
        reset(self.root)

    def forward(self, messages: Messages, inputs: AggregationInputs) -> Tensor:
        """AGGR(messages) + root(h_v)."""
        out: Tensor = self.aggregator(messages, inputs)
        rows = project_targets(inputs, self.root.weight)
        rows = rows if self.root.bias is None else rows + self.root.bias
        return out + torch.unflatten(rows, 1, (-1, out.size(2)))


class _Normalize(Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.nn.functional.normalize(x, p=2.0, dim=-1)


# Options of every conv of PyG: the values that a twin supports, and what to do for others.
_FIXED: dict[str, tuple[tuple[Any, ...], str]] = {
    "flow": (("source_to_target",), "reverse the edges instead"),
    "node_dim": ((-2, 0), "make the nodes the first of two axes"),
    "decomposed_layers": ((1,), "leave it at 1; a twin stores no features per edge"),
}


# Without a narrow layer, generators have as many weights as the square of this width, twice.
_WIDE, _NARROW = 256, 16


@singledispatch
def _twin(conv: Any, options: dict[str, Any]) -> LocalizedConv:
    raise InputError(
        "conv",
        "has a type whose localized twin is not known",
        value=type(conv).__name__,
        way_out="subclass nodewise.nn.aggregators.Aggregator and give it to LocalizedConv",
    )


def localize(
    conv: Module,
    *,
    node_level: bool = True,
    edge_level: bool = True,
    bottleneck: int | Literal["auto"] | None = "auto",
    generator_row_sum: float = 0.3,
) -> LocalizedConv:
    """The localized twin of a PyG conv, with its weights copied.

    Knows GCNConv, SAGEConv, GraphConv, GATConv, GATv2Conv and GINConv. The twin has the precision,
    device and mode of its base, and what is frozen there is frozen here. Options of the base are
    carried over, or refused by name where the twin would differ. `cached` is
    ignored: a twin always caches what it computes from an `edge_index`, for that tensor only.

    The twin is made for an ordinary training loop, on features of any size: unlike in the paper,
    its generators see every row scaled to a small sum (`generator_row_sum`).

    Args:
        conv: The conv; it is not changed.
        node_level: Whether its weight is localized at every node.
        edge_level: Whether its messages are localized on every edge.
        bottleneck: Width of the narrow layer in the node-level generators; None for none, "auto"
            for one of width 16 where rows have more than 256 entries.
        generator_row_sum: What the absolute values of a row sum to where generators see it; 0 for
            the paper's form, whose scales grow with the features.
    """
    for option, (expected, way_out) in _FIXED.items():
        if getattr(conv, option, expected[0]) not in expected:
            raise _refuse(conv, option, way_out)
    widths = getattr(conv, "in_channels", 0)
    if -1 in (widths if isinstance(widths, tuple) else (widths,)):
        raise _refuse(conv, "in_channels", "give the conv the size of the rows, or call it once")
    options = {"node_level": node_level, "edge_level": edge_level, "bottleneck": bottleneck}
    localization = LocalizationOptions(generator_row_sum=generator_row_sum)
    inits = Inits(modulator="zeros")
    twin = _twin(conv, {**options, "localization": localization, "inits": inits})
    twin.to(twin.weight).train(conv.training)
    return twin


def _refuse(conv: Any, option: str, way_out: str) -> InputError:
    return InputError(
        f"{type(conv).__name__}.{option}",
        "cannot be localized exactly",
        value=getattr(conv, option),
        way_out=way_out,
    )


def _new_twin(
    in_channels: int | tuple[int, int],
    out_channels: int,
    aggregator: Aggregator,
    *,
    bottleneck: int | Literal["auto"] | None,
    **options: Any,
) -> LocalizedConv:
    """A `LocalizedConv` with the bottleneck that suits the width of its rows."""
    if bottleneck == "auto":
        width = in_channels if isinstance(in_channels, int) else in_channels[0]
        bottleneck = _NARROW if width > _WIDE else None
    return LocalizedConv(in_channels, out_channels, aggregator, bottleneck=bottleneck, **options)


def _copy(to: Tensor | None, value: Tensor | None) -> None:
    """Copy a weight, its precision and `requires_grad` included."""
    if to is not None and value is not None:
        to.data = value.detach().clone().view_as(to)
        to.requires_grad_(value.requires_grad)


@_twin.register
def _(conv: pyg.GCNConv, options: dict[str, Any]) -> LocalizedConv:
    _check_sum(conv)
    loops: Literal["set", "none"] = "set" if conv.add_self_loops and conv.normalize else "none"
    rule = BlockRule(
        loops,
        "symmetric" if conv.normalize else "none",
        self_weight=2.0 if conv.improved else 1.0,
        keeps_loop_weights=True,
    )
    bias = conv.bias is not None
    twin = _new_twin(conv.in_channels, conv.out_channels, WeightedSum(rule), bias=bias, **options)
    _copy(twin.weight, conv.lin.weight)
    _copy(twin.bias, conv.bias)
    return twin


def _check_sum(conv: Any) -> None:
    """Check that a conv sums its messages, which PyG's `aggr` may replace by anything."""
    if not isinstance(conv.aggr_module, pyg.SumAggregation):
        raise _refuse(conv, "aggr", "leave it at 'add'")


def _linear_sum(conv: Any) -> Aggregator:
    """The conv's aggregation over neighbors, which must commute with a matrix product."""
    if isinstance(conv.aggr_module, pyg.MeanAggregation):
        # A mean over neighbors counts them; edge weights scale the messages.
        return WeightedSum(BlockRule("none", "count"))
    if isinstance(conv.aggr_module, pyg.SumAggregation):
        return WeightedSum(BlockRule("none"))
    raise _refuse(conv, "aggr", "use aggr='mean' or 'add': W then acts before the sum as after it")


@_twin.register
def _(conv: pyg.SAGEConv, options: dict[str, Any]) -> LocalizedConv:
    if conv.project:
        raise _refuse(conv, "project", "put the projection in front as a separate layer")
    aggregator = _linear_sum(conv)
    if conv.root_weight:
        aggregator = WithRoot(aggregator, deepcopy(conv.lin_r))
    if conv.normalize:
        aggregator = PostProcess(aggregator, _Normalize(), conv.lin_l.bias)
        _copy(aggregator.bias, conv.lin_l.bias)
    bias = conv.lin_l.bias is not None and not conv.normalize
    twin = _new_twin(conv.in_channels, conv.out_channels, aggregator, bias=bias, **options)
    _copy(twin.weight, conv.lin_l.weight)
    _copy(twin.bias, conv.lin_l.bias)
    return twin


@_twin.register
def _(conv: pyg.GraphConv, options: dict[str, Any]) -> LocalizedConv:
    aggregator = WithRoot(_linear_sum(conv), deepcopy(conv.lin_root))
    bias = conv.lin_rel.bias is not None
    twin = _new_twin(conv.in_channels, conv.out_channels, aggregator, bias=bias, **options)
    _copy(twin.weight, conv.lin_rel.weight)
    _copy(twin.bias, conv.lin_rel.bias)
    return twin


def _attention_rule(conv: Any) -> BlockRule:
    _check_sum(conv)
    if conv.edge_dim is not None:
        raise _refuse(conv, "edge_dim", "leave edge features out")
    return BlockRule("set" if conv.add_self_loops else "none")


@_twin.register
def _(conv: pyg.GATConv, options: dict[str, Any]) -> LocalizedConv:
    source, target = conv.lin or conv.lin_src, conv.lin_dst
    gat = Gat(
        conv.out_channels,
        conv.heads,
        dropout=conv.dropout,
        negative_slope=conv.negative_slope,
        rule=_attention_rule(conv),
        target_width=None if target is None else target.in_channels,
    )
    _copy(gat.attention.source, conv.att_src)
    _copy(gat.attention.target, conv.att_dst)
    _copy(gat.target_weight, None if target is None else target.weight)
    aggregator = gat if conv.res is None else WithRoot(gat, deepcopy(conv.res))
    return _attentive(conv, source, aggregator, options)


@_twin.register
def _(conv: pyg.GATv2Conv, options: dict[str, Any]) -> LocalizedConv:
    gat = GatV2(
        conv.out_channels,
        conv.lin_r.in_channels,
        conv.heads,
        bias=conv.lin_r.bias is not None,
        dropout=conv.dropout,
        negative_slope=conv.negative_slope,
        rule=_attention_rule(conv),
    )
    _copy(gat.attention, conv.att)
    _copy(gat.target_weight, conv.lin_r.weight)
    _copy(gat.target_bias, conv.lin_r.bias)
    aggregator = gat if conv.res is None else WithRoot(gat, deepcopy(conv.res))
    twin = _attentive(conv, conv.lin_l, aggregator, options)
    if conv.share_weights:
        gat.target_weight, gat.target_bias = twin.weight, twin.message_bias
    return twin


def _attentive(
    conv: Any, linear: Any, aggregator: Aggregator, options: dict[str, Any]
) -> LocalizedConv:
    """The common part of GATConv and GATv2Conv: heads, and a linear map of the sources."""
    if isinstance(aggregator, WithRoot) and not conv.concat:
        raise _refuse(conv, "residual", "concatenate the heads, or add the residual outside")
    twin = _new_twin(
        conv.in_channels,
        conv.out_channels,
        aggregator,
        heads=conv.heads,
        concat=conv.concat,
        bias=conv.bias is not None,
        message=MessageOptions(linear.bias is not None),
        **options,
    )
    _copy(twin.weight, linear.weight)
    _copy(twin.message_bias, linear.bias)
    _copy(twin.bias, conv.bias)
    return twin


@_twin.register
def _(conv: pyg.GINConv, options: dict[str, Any]) -> LocalizedConv:
    _check_sum(conv)
    first, rest = _split_mlp(conv)
    gin = GinSum(conv.eps.detach().item(), isinstance(conv.eps, Parameter))
    _copy(gin.eps, conv.eps)
    aggregator = PostProcess(gin, deepcopy(rest), first.bias)
    _copy(aggregator.bias, first.bias)
    twin = _new_twin(first.in_features, first.out_features, aggregator, **options)
    _copy(twin.weight, first.weight)
    return twin


def _split_mlp(conv: pyg.GINConv) -> tuple[Linear, Module]:
    """GIN's MLP as its first linear layer, which may act before the sum, and the rest."""
    layers = list(conv.nn) if isinstance(conv.nn, Sequential) else [conv.nn]
    if not layers or not isinstance(layers[0], Linear):
        raise _refuse(conv, "nn", "make it a torch.nn.Sequential that begins with a Linear")
    return layers[0], Sequential(*layers[1:])
