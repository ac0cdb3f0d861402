"""What `LocalizedConv` and `FilmConv` share: a global W with heads, an aggregator, biases, dropout.

Each of them adds a `forward` that computes the messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
from nodewise.nn.edges import check_no_weights, plain_edges
from nodewise.nn.inits import initialize
from nodewise.nn.lazy import SOURCE, TARGET, LazyWeight, new_weight
from nodewise.nn.options import DropRates, Inits, MessageOptions
from nodewise.nn.pyg_arguments import check_arguments, check_sizes
from nodewise.nn.typed_call import TypedCall
from nodewise.ops.dispatch import dropout, gather_sources, messages, project, sum_neighbors
from nodewise.ops.dropconnect import DropConnect
from nodewise.ops.neighbors import Neighborhood, check_edge_index
from nodewise.ops.sparse import (
    Features,
    SparseRows,
    as_features,
    check_precision,
    check_rows,
    num_rows,
    row_width,
)

Inputs = Features | tuple[Features, Features]


class BaseConv(MessagePassing):  # type: ignore[misc]
    """A weight on every neighbor, an aggregator, biases and dropout.

    It is a `MessagePassing`, so that PyG's tools (Explainer, `reset`, summaries) accept it, but it
    never calls `propagate`: that would gather h_u on every edge and multiply afterwards, E rows of
    the input's width. Localization acts between the two, so the layer computes the messages itself
    (`nodewise.ops`) and passes them to its `Aggregator`. Hooks on `propagate`, `message` and
    `aggregate` therefore do not run; the edge mask of PyG's Explainer is applied to the messages.

    Args:
        in_channels: Size of each input row, or -1 for that of the first input; a pair (source,
            target) for bipartite graphs.
        out_channels: Size of each output row and head.
        aggregator: AGGR, by name, as an `Aggregator` or as a function that returns one.
        heads: How many heads, each with a separate W.
        concat: Whether heads are concatenated (else averaged).
        bias: Whether a bias is added after aggregation.
        message: What is added to W h_u; each conv documents where the activation is applied.
        drop_rates: Dropout of weights and messages.
        inits: The initializers.
        arguments: Arguments of PyG's convs; one with an unsupported value is refused.
    """

    if TYPE_CHECKING:
        __call__: TypedCall[Inputs, Tensor | Block]

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        aggregator: str | Module | AggregatorFactory,
        heads: int,
        concat: bool,
        bias: bool,
        message: MessageOptions,
        drop_rates: DropRates,
        inits: Inits,
        arguments: dict[str, Any],
    ) -> None:
        check_arguments(type(self).__name__, arguments)
        check_sizes(in_channels=in_channels, out_channels=out_channels, heads=heads)
        super().__init__(aggr=None, node_dim=0)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.heads, self.concat = heads, concat
        self.drop_rates, self.inits, self.message_act = drop_rates, inits, message.act
        source, target = self._widths_or_slots()
        pair = not isinstance(in_channels, int)
        self.aggregator = make_aggregator(aggregator, out_channels, heads, target, pair=pair)
        self.weight = new_weight(heads, out_channels, source, init=inits.weight)
        self.message_bias = Parameter(torch.empty(heads, out_channels)) if message.bias else None
        width = heads * out_channels if concat else out_channels
        self.bias = Parameter(torch.empty(width)) if bias else None
        self.register_load_state_dict_post_hook(_read_width)

    @property
    def widths(self) -> tuple[int, int]:
        """Size of the sources' rows and of the targets'; -1 where the first input decides it."""
        both = self.in_channels
        return (both, both) if isinstance(both, int) else both

    def _widths_or_slots(self) -> tuple[int, int]:
        """The two sizes, `SOURCE` or `TARGET` in place of an unknown one."""
        source, target = self.widths
        return SOURCE if source == -1 else source, TARGET if target == -1 else target

    def _set_widths(self, x: Features, x_target: Features | None) -> None:
        """Set the sizes that are not known yet from the first input."""
        check_rows(x, source := row_width(x))
        target = source if x_target is None else row_width(x_target)
        pair = not isinstance(self.in_channels, int) or source != target
        self.in_channels = (source, target) if pair else source
        self._materialize()

    def _materialize(self) -> None:
        """Initialize the weights that waited for the widths."""
        for weight in list(self.parameters()):
            if isinstance(weight, LazyWeight):
                weight.materialize_for(*self.widths)

    def reset_parameters(self) -> None:
        """Initialize all weights again."""
        super().reset_parameters()
        self._reset_weights()
        self.aggregator.reset_parameters()

    def _reset_weights(self) -> None:
        """Initialize W and the biases; the last line of a conv's constructor."""
        initialize(self.weight, self.inits.weight)
        for bias in (self.message_bias, self.bias):
            if bias is not None:
                initialize(bias, self.inits.bias)

    def local_parameters(self) -> list[Parameter]:
        """Theta_L: the weights that generate modulations; here there are none."""
        return []

    def global_parameters(self) -> list[Parameter]:
        """Theta_G: everything else."""
        local = {id(weight) for weight in self.local_parameters()}
        return [weight for weight in self.parameters() if id(weight) not in local]

    def block(
        self, edge_index: Tensor, num_nodes: tuple[int, int], edge_weight: Tensor | None = None
    ) -> Block:
        """C_v for every target, as the aggregator defines it; `num_nodes` is (sources, targets).

        In a bipartite graph whose targets are members of their own C_v (GIN), `num_nodes` counts
        them among the sources, too.
        """
        edges, weight = plain_edges(edge_index, edge_weight, num_nodes, self.weight)
        return self._block(edges, weight, num_nodes)

    def _block(self, edges: Tensor, weight: Tensor | None, num_nodes: tuple[int, int]) -> Block:
        rule, dtype = self.aggregator.rule, self.weight.dtype
        return block_of(edges, weight, num_nodes[1], num_nodes[0], rule, dtype)

    def _inputs(
        self, x: Inputs, edge_index: Tensor | Block, edge_weight: Tensor | None
    ) -> tuple[Features, Features | None, Block]:
        """The sources' rows, the targets' rows in a bipartite graph, and the graph as a block."""
        x_target: Features | None = None
        if isinstance(x, tuple):
            x, x_target = map(as_features, _checked_pair(x))
        else:
            x = as_features(x)
        if -1 in self.widths:
            self._set_widths(x, x_target)
        self._check(x, x_target)
        if isinstance(edge_index, Block):
            check_no_weights(edge_weight, "the coefficients of a block")
            x = self._with_targets(x, x_target)
            self._check_block(edge_index, x)
            return x, x_target, edge_index
        sizes = (num_rows(x), num_rows(x if x_target is None else x_target))
        edges, weight = plain_edges(edge_index, edge_weight, sizes, self.weight)
        if x_target is not None:
            # Before targets are added to the sources, where a wrong number could name one.
            check_edge_index(edges, sizes[1], sizes[0])
        x = self._with_targets(x, x_target)
        return x, x_target, self._block(edges, weight, (num_rows(x), sizes[1]))

    def _check(self, x: Features, x_target: Features | None) -> None:
        """Check the rows against the weights."""
        source, target = self.widths
        check_rows(x, source)
        check_precision("x", x, self.weight)
        if x_target is not None:
            check_rows(x_target, target)
            check_precision("x", x_target, self.weight)

    def _check_block(self, block: Block, x: Features) -> None:
        """Check that a block has these rows for sources, and weights of this layer's type."""
        count = block.neighbors.num_sources
        if num_rows(x) != count:  # the width is checked before
            check_rows(x, self.widths[0], count)
        coefficient = block.coefficient
        if coefficient is not None and coefficient.dtype != self.weight.dtype:
            raise InputError(
                "edge_index",
                f"is a block with weights of {coefficient.dtype}, not {self.weight.dtype}",
                way_out="build it with this layer's method `block`",
            )

    def _with_targets(self, x: Features, x_target: Features | None) -> Features:
        """The rows that edges come from; targets in their own C_v are added to the sources."""
        rule = self.aggregator.rule
        if x_target is None:
            return x
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
                "targets in their own context need rows as wide as the sources'",
                value=self.in_channels,
                way_out="bring both to one width first",
            )
        return torch.cat([dense_rows(x), dense_rows(x_target)])

    def _aggregation_inputs(
        self, x: Features, x_target: Features | None, block: Block
    ) -> AggregationInputs:
        """The inputs of the aggregator."""
        mask = self._explainer_mask(block)
        return AggregationInputs(block, x, x_target, self.weight, self.message_bias, mask)

    @property
    def _may_sum_first(self) -> bool:
        """Whether W may be applied after AGGR: a linear sum with weights that see no message."""
        dropped = self.training and self.drop_rates.message > 0
        return (
            isinstance(self.aggregator, Sum)
            and not self.aggregator.sees_messages
            and not (self.message_act is not None or dropped or self.explain)
        )

    @property
    def rows_per_edge(self) -> int:
        """How many tensors (E, H, out) exist at once; none where sums come first.

        Estimates of memory need it.
        """
        raise NotImplementedError

    def _global_products(self, x: Features) -> Tensor:
        """W h_u (sources, H, out), the same W everywhere."""
        return project(x, self.weight.flatten(0, 1)).view(-1, *self.weight.shape[:2])

    def _global_messages(self, x: Features, block: Block) -> Tensor:
        """W h_u (E, H, out); in training every target drops entries of W, the same on its edges."""
        drop = DropConnect.draw(self.drop_rates.weight, self.training)
        if drop is None:
            return gather_sources(self._global_products(x), block.neighbors)
        code = self.weight.new_zeros(block.neighbors.num_targets, self.heads, 1)
        unchanged = (code, self.weight.new_zeros(self.heads, self.weight.size(-1), 1))
        return messages(x, self.weight, unchanged, unchanged, block.neighbors, drop)

    def _global_sums(self, inputs: AggregationInputs) -> tuple[Tensor, Tensor | None]:
        """sum_u w_uv W h_u (targets, H, out), no message formed, and the weights w_uv."""
        assert isinstance(self.aggregator, Sum)
        x, neighbors = inputs.x_source, inputs.block.neighbors
        weight = self.aggregator.weights(inputs)
        if isinstance(x, Tensor) and self._sums_are_fewer(x, weight, neighbors):
            return self._global_products(sum_neighbors(x, weight, neighbors)), weight
        return sum_neighbors(self._global_products(x), weight, neighbors), weight

    def _sums_are_fewer(self, x: Tensor, weight: Tensor | None, neighbors: Neighborhood) -> bool:
        """Whether W multiplies fewer rows after the sum than before it, and none that is wider."""
        one_weight = weight is None or weight.dim() == 1
        narrow = x.size(1) <= self.heads * self.out_channels
        return one_weight and narrow and neighbors.num_targets < neighbors.num_sources

    def _aggregate(self, z: Tensor, inputs: AggregationInputs) -> Tensor:
        """AGGR of the messages (E, H, out), after dropout: (targets, H, out)."""
        dropped = dropout(z, self.drop_rates.message, self.training)
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
        mask = mask.to(self.weight.dtype)  # explainers make float32
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
    """The same rows as a dense tensor."""
    return x.dense() if isinstance(x, SparseRows) else x


def _read_width(conv: Any, _: Any) -> None:
    """Take the width of a lazy conv's rows from the weight that a state dict brought."""
    if conv.widths[0] == -1 and not isinstance(conv.weight, LazyWeight):
        width, pair = conv.weight.size(2), conv.in_channels
        conv.in_channels = width if isinstance(pair, int) else (width, pair[1])
        if -1 not in conv.widths:
            conv._materialize()
