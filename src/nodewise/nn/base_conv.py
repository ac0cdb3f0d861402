"""What the convolutions here share: a global W with heads, an aggregator, biases, dropout.

A conv is this and a `forward` that makes messages: `LocalizedConv`, `FilmConv`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import Module, Parameter
from torch_geometric.nn import MessagePassing

from nodewise.errors import InputError
from nodewise.nn.aggregators import (
    AggregationInputs,
    AggregatorFactory,
    AnyAggregation,
    Messages,
    Sum,
    make_aggregator,
)
from nodewise.nn.block import Block, block_of
from nodewise.nn.inits import initializer
from nodewise.ops.dispatch import dropout, gather_sources, messages, project, sum_neighbors
from nodewise.ops.dropconnect import DropConnect, check_rate
from nodewise.ops.sparse import Features, SparseRows, as_features

Inputs = Features | tuple[Features, Features]


class BaseConv(MessagePassing):  # type: ignore[misc]
    """A weight on every neighbor, an aggregator, and what may be put around them.

    Args:
        in_channels: Size of each input row; a pair (source, target) for bipartite graphs.
        out_channels: Size of each output row and head.
        aggregator: AGGR, by name, as an `Aggregator` or as a function that makes one.
        heads: How many heads, each with its own W.
        concat: Whether heads are concatenated (else averaged).
        bias: Whether a bias is added after aggregation.
        message_bias: Whether a bias is added to W h_u.
        message_act: Applied to messages; the conv says where.
        weight_dropout: Rate at which every node drops entries of its W.
        message_dropout: Rate at which entries of the messages are dropped.
        weight_init: Name of W's initializer.
        bias_init: Name of the initializer of the two biases.
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        aggregator: str | Module | AggregatorFactory,
        heads: int,
        concat: bool,
        bias: bool,
        message_bias: bool,
        message_act: Callable[[Tensor], Tensor] | None,
        weight_dropout: float,
        message_dropout: float,
        weight_init: str,
        bias_init: str,
    ) -> None:
        super().__init__(aggr=None, node_dim=0)
        check_rate("weight_dropout", weight_dropout)
        check_rate("message_dropout", message_dropout)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.heads, self.concat = heads, concat
        self.weight_dropout, self.message_dropout = weight_dropout, message_dropout
        self.message_act, self.weight_init, self.bias_init = message_act, weight_init, bias_init
        target_width = None if isinstance(in_channels, int) else in_channels[1]
        self.aggregator = make_aggregator(aggregator, out_channels, heads, target_width)
        self.weight = Parameter(torch.empty(heads, out_channels, self.widths[0]))
        self.message_bias = Parameter(torch.empty(heads, out_channels)) if message_bias else None
        width = heads * out_channels if concat else out_channels
        self.bias = Parameter(torch.empty(width)) if bias else None

    @property
    def widths(self) -> tuple[int, int]:
        """Size of the sources' rows and of the targets'."""
        both = self.in_channels
        return (both, both) if isinstance(both, int) else both

    def reset_parameters(self) -> None:
        """Start every weight anew."""
        super().reset_parameters()
        self._start_own_weights()
        self.aggregator.reset_parameters()

    def _start_own_weights(self) -> None:
        """Fill W and the biases; the last line of a conv's constructor."""
        initializer(self.weight_init)(self.weight)
        for bias in (self.message_bias, self.bias):
            if bias is not None:
                initializer(self.bias_init)(bias)

    def local_parameters(self) -> list[Parameter]:
        """Theta_L: what generates modulations; here nothing does."""
        return []

    def global_parameters(self) -> list[Parameter]:
        """Theta_G: everything else."""
        local = {id(weight) for weight in self.local_parameters()}
        return [weight for weight in self.parameters() if id(weight) not in local]

    def block(
        self, edge_index: Tensor, num_nodes: tuple[int, int], edge_weight: Tensor | None = None
    ) -> Block:
        """C_v for every target, as the aggregator sees it; `num_nodes` is (sources, targets).

        Of a bipartite graph whose targets hear themselves (GIN), they count as sources, too.
        """
        sources, targets = num_nodes
        return block_of(
            edge_index, edge_weight, targets, sources, self.aggregator.rule, self.weight.dtype
        )

    def _inputs(
        self, x: Inputs, edge_index: Tensor | Block, edge_weight: Tensor | None
    ) -> tuple[Features, Features | None, Block]:
        """Rows of the sources, of the targets where they are others, and the graph as a block."""
        x_target: Features | None = None
        if isinstance(x, tuple):
            x, x_target = map(as_features, _checked_pair(x))
            x = self._sources_of_pair(x, x_target)
        else:
            x = as_features(x)
        if isinstance(edge_index, Block):
            return x, x_target, edge_index
        sources = _num_rows(x)
        targets = sources if x_target is None else _num_rows(x_target)
        return x, x_target, self.block(edge_index, (sources, targets), edge_weight)

    def _sources_of_pair(self, x: Features, x_target: Features) -> Features:
        """The rows that edges come from; where targets hear themselves, theirs are added."""
        rule = self.aggregator.rule
        if rule.normalization == "symmetric":
            raise InputError(
                "x",
                "is a pair, but symmetric normalization needs one set of nodes at both ends",
                way_out="take means or sums",
            )
        if rule.loops != "extra":
            return x
        if self.widths[0] != self.widths[1]:
            raise InputError(
                "in_channels",
                "targets that hear themselves need rows as wide as the sources'",
                value=self.in_channels,
                way_out="bring both to one width first",
            )
        return torch.cat([dense_rows(x), dense_rows(x_target)])

    def _aggregation_inputs(
        self, x: Features, x_target: Features | None, block: Block
    ) -> AggregationInputs:
        """What the aggregator may look at."""
        mask = self._explainer_mask(block)
        return AggregationInputs(block, x, x_target, self.weight, self.message_bias, mask)

    @property
    def _may_sum_first(self) -> bool:
        """Whether AGGR is a sum that sees no messages, and nothing nonlinear happens to one."""
        dropped = self.training and self.message_dropout > 0
        return (
            isinstance(self.aggregator, Sum)
            and not self.aggregator.sees_messages
            and not (self.message_act is not None or dropped or self.explain)
        )

    def _global_products(self, x: Features) -> Tensor:
        """W h_u (sources, H, out), the same W everywhere."""
        return project(x, self.weight.flatten(0, 1)).view(-1, *self.weight.shape[:2])

    def _global_messages(self, x: Features, block: Block) -> Tensor:
        """W h_u (E, H, out); in training every target may drop entries of W, for all it hears."""
        drop = DropConnect.draw(self.weight_dropout, self.training)
        if drop is None:
            return gather_sources(self._global_products(x), block.neighbors)
        code = self.weight.new_zeros(block.neighbors.num_targets, self.heads, 1)
        unchanged = (code, self.weight.new_zeros(self.heads, self.weight.size(-1), 1))
        return messages(x, self.weight, unchanged, unchanged, block.neighbors, drop)

    def _global_sums(self, inputs: AggregationInputs) -> tuple[Tensor, Tensor | None]:
        """sum_u w_uv W h_u (targets, H, out), no message formed, and the weights w_uv."""
        assert isinstance(self.aggregator, Sum)
        weight = self.aggregator.weights(inputs)
        products = self._global_products(inputs.x_source)
        return sum_neighbors(products, weight, inputs.block.neighbors), weight

    def _aggregate(self, z: Tensor, inputs: AggregationInputs) -> Tensor:
        """AGGR of the messages (E, H, out), after dropout: (targets, H, out)."""
        dropped = dropout(z, self.message_dropout, self.training)
        out: Tensor = self.aggregator(Messages(dropped, z), inputs)
        if isinstance(self.aggregator, AnyAggregation) and out.shape[1:] != z.shape[1:]:
            raise InputError(
                "aggregator",
                f"must give rows of the size of a message, {z.size(2)}",
                value=out.size(2),
                way_out="bring them back: PostProcess(AnyAggregation(...), "
                f"torch.nn.Linear({out.size(2)}, {z.size(2)}))",
            )
        return out

    def _explainer_mask(self, block: Block) -> Tensor | None:
        """The edge mask of PyG's Explainer in our order; loops that were added are never masked."""
        if not self.explain:
            return None
        mask: Tensor = self._edge_mask.sigmoid() if self._apply_sigmoid else self._edge_mask
        return torch.cat([mask, mask.new_ones(1)])[block.neighbors.edge_id]

    def _join(self, out: Tensor) -> Tensor:
        """The heads side by side, or their mean."""
        return out.flatten(1) if self.concat else out.mean(1)


def _checked_pair(x: tuple[Features, Features]) -> tuple[Features, Features]:
    source, target = x
    if target is None:
        raise InputError(
            "x",
            "is a pair without rows for its targets",
            way_out="give the rows of both ends, or one tensor where all nodes are of one kind",
        )
    return source, target


def times_rows(x: Features, weights: Sequence[Tensor]) -> list[Tensor]:
    """Each (H, out, in) matrix times every row, as (N, H, out): one product for all of them."""
    flat = project(x, torch.cat([weight.flatten(0, 1) for weight in weights]))
    return list(flat.view(-1, len(weights), *weights[0].shape[:2]).unbind(1))


def dense_rows(x: Features) -> Tensor:
    """The same rows, dense."""
    return x.dense() if isinstance(x, SparseRows) else x


def _num_rows(x: Features) -> int:
    return x.num_rows if isinstance(x, SparseRows) else x.size(0)
