"""AGGR of Eq. 8: messages on edges -> representations of nodes. The backbone is an argument.

To localize another GNN, subclass `Aggregator`: its `rule` defines C_v, its `forward` reduces the
messages of C_v to one.
"""

from __future__ import annotations

from collections.abc import Callable

from torch.nn import Module

from nodewise.nn.aggregators.attention import Gat, GatV2
from nodewise.nn.aggregators.base import AggregationInputs, Aggregator, Messages, Sum
from nodewise.nn.aggregators.pyg import AnyAggregation
from nodewise.nn.aggregators.sums import GCN_RULE, GinSum, PostProcess, WeightedSum
from nodewise.nn.block import BlockRule

__all__ = [
    "AggregationInputs",
    "Aggregator",
    "AnyAggregation",
    "Gat",
    "GatV2",
    "GinSum",
    "Messages",
    "PostProcess",
    "Sum",
    "WeightedSum",
    "make_aggregator",
]

# From the size of a message and the number of heads.
AggregatorFactory = Callable[[int, int], Aggregator]


def make_aggregator(
    aggregator: str | Module | AggregatorFactory,
    out: int,
    heads: int,
    target_width: int,
    *,
    pair: bool = False,
) -> Aggregator:
    """An aggregator from its name: gcn, mean, sum, gat, gatv2, gin, or any PyG aggregation.

    GIN with more than one layer is `PostProcess(GinSum(), rest_of_its_mlp)`.

    Args:
        aggregator: A name, an `Aggregator`, a function that returns one from (out, heads), or a
            `torch_geometric.nn.aggr` module.
        out: Size of a message.
        heads: How many heads.
        target_width: Size of h_v.
        pair: Whether the graph is bipartite, so that targets have other rows than sources.
    """
    if isinstance(aggregator, Aggregator):
        return aggregator
    if not isinstance(aggregator, str | Module):
        return aggregator(out, heads)
    if aggregator == "gcn":
        return WeightedSum(GCN_RULE)
    if aggregator == "mean":
        return WeightedSum(BlockRule("set", "mean"))
    if aggregator == "sum":
        return WeightedSum(BlockRule("set"))
    if aggregator == "gin":
        return GinSum()
    if aggregator == "gat":
        return Gat(out, heads, target_width=target_width if pair else None)
    if aggregator == "gatv2":
        return GatV2(out, target_width, heads, bias=False)
    return AnyAggregation(aggregator)
