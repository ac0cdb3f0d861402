"""Any aggregation of PyG as an aggregator."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch_geometric.nn.resolver import aggregation_resolver

from nodewise.errors import InputError
from nodewise.nn.aggregators.base import AggregationInputs, Aggregator, Messages
from nodewise.nn.block import BlockRule


class AnyAggregation(Aggregator):
    """Any `torch_geometric.nn.aggr` module: max, softmax, LSTM, ...

    A module whose output is wider than its input (several aggregations side by side, quantiles,
    ...) needs a single head and `PostProcess(AnyAggregation(...), torch.nn.Linear(wide, out))`.

    Args:
        aggregation: The module, or its name.
        rule: Which nodes belong to C_v.
    """

    def __init__(self, aggregation: Any, rule: BlockRule | None = None) -> None:
        super().__init__()
        self.rule = rule or BlockRule()
        self.aggregation = aggregation_resolver(aggregation)

    def reset_parameters(self) -> None:
        """Initialize the module again."""
        self.aggregation.reset_parameters()

    def forward(self, messages: Messages, inputs: AggregationInputs) -> Tensor:
        """The module's aggregation of the weighted messages."""
        dropped, block = messages.dropped, inputs.block
        for weight in (block.coefficient, inputs.edge_mask):
            if weight is not None:
                dropped = dropped * weight.view(-1, 1, 1)
        flat = self.aggregation(
            dropped.flatten(1), index=block.neighbors.target, dim_size=block.neighbors.num_targets
        )
        heads = dropped.size(1)
        if heads > 1 and flat.size(1) != dropped.size(1) * dropped.size(2):
            raise InputError(
                "aggregator",
                "returns rows of another size than it receives, which cannot be split into heads",
                value=type(self.aggregation).__name__,
                way_out="take one head",
            )
        return flat.unflatten(1, (heads, flat.size(1) // heads))  # type: ignore[no-any-return]
