"""C_v -> c_v (Eq. 5): the context of a node, from which its local weights are generated."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor
from torch.nn import Module
from torch_geometric.nn.resolver import aggregation_resolver

from nodewise.errors import InputError
from nodewise.nn.block import Block
from nodewise.ops.dispatch import sum_neighbors


class Context(Module):
    """Pools the rows of C_v into one row for each target.

    With `is_linear`, pooling and a matrix product commute; a generator then reduces the rows first,
    and pools rows as narrow as its bottleneck.
    """

    is_linear: ClassVar[bool]

    def forward(self, x: Tensor, block: Block) -> Tensor:
        """Rows of the sources (sources, ...) -> rows of the targets (targets, ...)."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class MeanContext(Context):
    """Eq. 5 as printed: the mean over C_v, regardless of the aggregator's weights."""

    is_linear = True

    def forward(self, x: Tensor, block: Block) -> Tensor:
        """The mean over C_v; zero where C_v is empty."""
        return sum_neighbors(x, block.shares(x.dtype), block.neighbors)


class SumContext(Context):
    """The sum over C_v under the aggregator's weights, as in the released program on Cora."""

    is_linear = True

    def forward(self, x: Tensor, block: Block) -> Tensor:
        """The weighted sum over C_v."""
        weight = None if block.coefficient is None else block.coefficient.to(x.dtype)
        return sum_neighbors(x, weight, block.neighbors)


class AggregationContext(Context):
    """Any `torch_geometric.nn.aggr` module; it may not be linear, so it pools the input rows.

    Args:
        aggregation: Such a module, or its name: "max", "softmax", "median", ...
    """

    is_linear = False

    def __init__(self, aggregation: Any) -> None:
        super().__init__()
        self.aggregation = aggregation_resolver(aggregation)

    def forward(self, x: Tensor, block: Block) -> Tensor:
        """The module's pooling of C_v."""
        neighbors = block.neighbors
        rows = x[neighbors.source].flatten(1)
        pooled: Tensor = self.aggregation(
            rows, index=neighbors.target, dim_size=neighbors.num_targets
        )
        if pooled.shape != (neighbors.num_targets, rows.size(1)):
            raise InputError(
                "context",
                f"must give one row of the same size, {rows.size(1)}, for each node",
                value=(*pooled.shape[1:],),
                way_out="take an aggregation that keeps the size, or a torch_geometric "
                "MultiAggregation with mode='mean'",
            )
        return pooled.view(-1, *x.shape[1:])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aggregation})"


def make_context(context: str | Context | Module) -> Context:
    """A context from its name ("mean", "sum", or any PyG aggregation) or module."""
    if isinstance(context, Context):
        return context
    named = {"mean": MeanContext, "sum": SumContext}
    if isinstance(context, str) and context in named:
        return named[context]()
    return AggregationContext(context)
