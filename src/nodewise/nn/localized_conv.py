r"""The paper's layer: every node aggregates with its local weight matrix.

Eq. 8, for a target node v and the members u of its context C_v:

.. math::
    h_v = \mathrm{AGGR}(\{ (W_v h_u) \odot a_{uv} + b_{uv} : u \in C_v \}), \quad
    W_v = W \odot a_v + b_v

a_v and b_v scale and shift the columns of the global W; they are generated from the node's context
c_v (Eqs. 4-6). a_uv and b_uv scale and shift each message; they are generated from the edge's two
ends (Eqs. 7-9). W_v is never built: see `nodewise.ops`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, Parameter

from nodewise.errors import InputError, UnknownNameError
from nodewise.nn.aggregators import (
    AggregationInputs,
    Aggregator,
    AggregatorFactory,
    AnyAggregation,
    Gat,
    GatV2,
    Sum,
)
from nodewise.nn.aggregators.scores import Attention
from nodewise.nn.autocast import without_autocast
from nodewise.nn.base_conv import BaseConv, Inputs
from nodewise.nn.block import Block
from nodewise.nn.context import make_context
from nodewise.nn.generator_rows import GeneratorRows
from nodewise.nn.modulation import (
    BiasModulator,
    EdgeModulator,
    Modulation,
    Modulations,
    NodeModulator,
)
from nodewise.nn.options import DropRates, Inits, LocalizationOptions, MessageOptions
from nodewise.nn.pyg_arguments import check_sizes
from nodewise.ops.dispatch import (
    gather_targets,
    messages,
    modulate_edges,
    pool_rows,
    project,
)
from nodewise.ops.dropconnect import DropConnect


class LocalizedConv(BaseConv):
    """A graph convolution whose weights are localized at every node and on every edge.

    It is a `MessagePassing`, so that PyG's tools accept it, but it computes its messages itself and
    never calls `propagate`; `BaseConv` explains why.

    Args:
        in_channels: Size of each input row, or -1 for that of the first input; a pair (source,
            target) for bipartite graphs.
        out_channels: Size of each output row and head.
        aggregator: AGGR: "gcn", "mean", "sum", "gat", "gatv2", "gin", an `Aggregator`, a function
            that returns one from (out_channels, heads), or any `torch_geometric.nn.aggr` module or
            its name.
        heads: How many heads, each with a separate W and separate modulators.
        concat: Whether heads are concatenated (else averaged).
        node_level: Whether W is localized at every node (Eqs. 4-6).
        edge_level: Whether messages are localized on every edge (Eqs. 7-9).
        bottleneck: Width of the narrow layer inside the node-level generators; None for one dense
            layer, which has in_channels x in_channels weights.
        bias: Whether a bias is added after aggregation.
        message: A bias added to W_v h_u, and an activation, both before edge-level modulation.
        drop_rates: Dropout of entries of W_v and of the localized messages.
        inits: Names of the initializers.
        localization: How C_v becomes c_v, and further details of the localization.
        **kwargs: Further arguments of PyG's convs. Values that describe what this layer does are
            accepted; for others an error names the argument.

    Shapes:
        - **input:** rows (N, in_channels), dense or `torch.sparse_csr`, or a pair of them;
          `edge_index` (2, E), an `EdgeIndex`, a `torch.sparse` adjacency (targets, sources) or a
          `Block`; `edge_weight` (E,)
        - **output:** (N, heads * out_channels), or (N, out_channels) without `concat`
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        aggregator: str | Module | AggregatorFactory = "gcn",
        heads: int = 1,
        concat: bool = True,
        node_level: bool = True,
        edge_level: bool = True,
        bottleneck: int | None = None,
        bias: bool = False,
        message: MessageOptions = MessageOptions(),
        drop_rates: DropRates = DropRates(),
        inits: Inits = Inits(),
        localization: LocalizationOptions = LocalizationOptions(),
        **kwargs: Any,
    ) -> None:
        if bottleneck is not None:
            check_sizes(bottleneck=bottleneck)
        super().__init__(
            in_channels,
            out_channels,
            aggregator,
            heads=heads,
            concat=concat,
            bias=bias,
            message=message,
            drop_rates=drop_rates,
            inits=inits,
            arguments=kwargs,
        )
        _check_scale_target(localization.edge_scale_target, self.aggregator)
        (source, target), init = self._widths_or_slots(), inits.modulator
        self.context = make_context(localization.context)
        self.generator_row_sum = localization.generator_row_sum
        self.node_modulator = NodeModulator(source, heads, bottleneck, init) if node_level else None
        self.edge_modulator = (
            EdgeModulator(target, source, out_channels, heads, init) if edge_level else None
        )
        self.bias_modulator = (
            BiasModulator(source, out_channels, heads, init) if localization.bias else None
        )
        self.attention = (
            Attention(out_channels, heads)
            if localization.edge_scale_target == "attention"
            else None
        )
        self._reset_weights()

    def reset_parameters(self) -> None:
        """Initialize all weights again."""
        super().reset_parameters()
        for part in (self.node_modulator, self.edge_modulator, self.bias_modulator, self.attention):
            if part is not None:
                part.reset_parameters()

    def local_parameters(self) -> list[Parameter]:
        """Theta_L: the weights that generate the modulations."""
        parts = (self.node_modulator, self.edge_modulator, self.bias_modulator)
        return [weight for part in parts if part is not None for weight in part.parameters()]

    @without_autocast
    def forward(
        self,
        x: Inputs,
        edge_index: Tensor | Block,
        edge_weight: Tensor | None = None,
        return_modulations: bool = False,
    ) -> Tensor | tuple[Tensor, Modulations]:
        """Eq. 8: W_v h_u on every edge, scaled and shifted once more, aggregated.

        Returns:
            The output rows, and with `return_modulations` the `Modulations`.
        """
        x, x_target, block = self._inputs(x, edge_index, edge_weight)
        inputs = self._aggregation_inputs(x, x_target, block)
        rows = GeneratorRows(x, self.generator_row_sum)
        if self._sums_first():
            out, bias, modulations = self._node_level(inputs, rows, sums_first=True)
            out = self._finish(out, bias)
            return (out, Modulations(modulations)) if return_modulations else out
        z, bias, modulations = self._node_level(inputs, rows)
        if self.message_bias is not None:
            z = z + (self.message_bias if bias is None else gather_targets(bias, block.neighbors))
        if self.message_act is not None:
            z = self.message_act(z)
        if self.edge_modulator is not None:
            z, edge = self._edge_level(self.edge_modulator, z, rows, inputs)
            modulations = [*modulations, edge]
        out = self._finish(self._aggregate(z, inputs), bias)
        return (out, Modulations(modulations)) if return_modulations else out

    @property
    def rows_per_edge(self) -> int:
        """Two: messages before and after the edge level or dropout; none where sums come first."""
        return 0 if self._sums_first() else 2

    def _sums_first(self) -> bool:
        """Whether W_v may be applied to the sum of w_uv h_u: no message is needed by itself."""
        if self.edge_modulator is not None or self.message_bias is not None:
            return False
        if self.node_modulator is None:
            dropped = self.training and self.drop_rates.weight > 0
            return self._may_sum_first and not dropped
        fixed = isinstance(self.aggregator, Sum) and self.aggregator.is_fixed
        return self._may_sum_first and fixed

    def _node_level(
        self, inputs: AggregationInputs, rows: GeneratorRows, *, sums_first: bool = False
    ) -> tuple[Tensor, Tensor | None, list[Modulation]]:
        """Apply the node level.

        Returns:
            W_v h_u on every edge (E, H, out), or with `sums_first` the weighted sum of them over
            C_v (targets, H, out); the localized bias (targets, H, out), if there is one; and the
            modulations.
        """
        x, block = inputs.x_source, inputs.block
        node, bias = self.node_modulator, self.bias_modulator
        reduces = [] if node is None else node.reduces
        biases = [] if bias is None else [bias.to_scale, bias.to_shift]
        products = self._times_context(rows, block, [*reduces, *biases])
        modulations: list[Modulation] = []
        if node is None:
            z = self._global_sums(inputs)[0] if sums_first else self._global_messages(x, block)
        else:
            codes = products[:2] if reduces else self._unreduced_codes(rows, block)
            scale, shift = node.with_expansions(codes)
            drop = DropConnect.draw(self.drop_rates.weight, self.training)
            neighbors = block.neighbors
            if sums_first:
                x, neighbors = pool_rows(x, block.coefficient, neighbors), neighbors.identity()
            z = messages(x, self.weight, scale, shift, neighbors, drop)
            modulations.append(node.modulation(scale, shift, block.sample))
        if bias is None:
            return z, None, modulations
        base = self.message_bias if self.bias is None else self.bias.view(self.heads, -1)
        localized, of_bias = bias(base, *products[-2:], block.sample)
        return z, localized, [*modulations, of_bias]

    def node_codes(
        self, x: Inputs, edge_index: Tensor | Block, edge_weight: Tensor | None = None
    ) -> list[Tensor]:
        """The codes from which the node level generates scale and shift, (targets, H, k) each.

        They are all that the node level needs of the graph, and no message is formed for them.

        Args:
            x: The rows, as `forward` takes them.
            edge_index: The edges, as `forward` takes them.
            edge_weight: The weight of each edge, or None.

        Raises:
            InputError: The conv has no node level.
        """
        if self.node_modulator is None:
            raise InputError("node_level", "is switched off", way_out="take a conv that has it")
        x, _, block = self._inputs(x, edge_index, edge_weight)
        rows, reduces = GeneratorRows(x, self.generator_row_sum), self.node_modulator.reduces
        if not reduces:
            return self._unreduced_codes(rows, block)
        return self._times_context(rows, block, reduces)

    def _times_context(
        self, rows: GeneratorRows, block: Block, weights: Sequence[Tensor]
    ) -> list[Tensor]:
        """Each (H, k, in) matrix times c_v, as (targets, H, k): one product for all of them."""
        if not weights:
            return []
        flat = torch.cat([weight.flatten(0, 1) for weight in weights])
        if self.context.is_linear:
            products = self.context(rows.times(flat), block)
        else:
            products = project(self.context(rows.dense(), block), flat)
        parts = products.split([weight.size(0) * weight.size(1) for weight in weights], 1)
        shapes = [weight.shape[:2] for weight in weights]
        # Contiguous, since otherwise every kernel that reads one would copy it.
        return [part.reshape(-1, *s).contiguous() for part, s in zip(parts, shapes, strict=True)]

    def _unreduced_codes(self, rows: GeneratorRows, block: Block) -> list[Tensor]:
        """Codes of generators without a narrow layer: c_v itself, for each head."""
        context: Tensor = self.context(rows.dense(), block)
        return [context[:, None].expand(-1, self.heads, -1)] * 2

    def _edge_level(
        self,
        modulator: EdgeModulator,
        z: Tensor,
        rows: GeneratorRows,
        inputs: AggregationInputs,
    ) -> tuple[Tensor, Modulation]:
        """Messages scaled and shifted by functions of the edge's two ends, and their modulation."""
        block, x_target = inputs.block, inputs.x_target
        targets = [modulator.to_scale.target, modulator.to_shift.target]
        sources = [modulator.to_scale.source, modulator.to_shift.source]
        if x_target is None:
            halves = rows.times_heads([*targets, *sources])
            of_target = [block.rows_of_targets(half) for half in halves[:2]]
            of_source = halves[2:]
        else:
            of_target = GeneratorRows(x_target, self.generator_row_sum).times_heads(targets)
            of_source = rows.times_heads(sources)
        scale, shift = (of_target[0], of_source[0]), (of_target[1], of_source[1])
        sample, target = block.sample, block.neighbors.target
        weight = None if sample is None else sample.edge_weight(target).to(z.dtype)
        z, *sums = modulate_edges(z, scale, shift, block.neighbors, weight=weight)
        modulation = modulator.modulation(scale, shift, (sums[0], sums[1]), block, weight)
        if self.attention is None:
            return z, modulation
        alpha = self.attention.of_nodes(inputs.x_source, x_target, self.weight, block)
        if self.aggregator.rule.normalization in ("mean", "count"):
            # A mean divides by |C_v| once more, so only scales of |C_v| alpha give attention. The
            # paper omits this factor.
            alpha = alpha * block.size[target, None]
        if sample is not None:
            # A sampled edge represents several members of C_v, which share its alpha.
            alpha = alpha / sample.multiplicity[:, None]
        return z, replace(modulation, attention=alpha)

    def _finish(self, out: Tensor, localized_bias: Tensor | None) -> Tensor:
        """The joined heads with the bias: localized for each head, or the same at all nodes."""
        if self.bias is None:
            return self._join(out)
        if localized_bias is None:
            return self._join(out) + self.bias
        return self._join(out + localized_bias)

    def __repr__(self) -> str:
        levels = [
            name
            for name, part in (("node", self.node_modulator), ("edge", self.edge_modulator))
            if part is not None
        ]
        return (
            f"{type(self).__name__}({self.in_channels}, {self.out_channels}, "
            f"aggregator={self.aggregator}, heads={self.heads}, "
            f"localized={'+'.join(levels) or 'nowhere'})"
        )


def _check_scale_target(scale_target: str, aggregator: Aggregator) -> None:
    """Check the target of edge scales; attention needs an aggregator that it turns into GAT."""
    if scale_target not in ("one", "attention"):
        raise UnknownNameError("localization.edge_scale_target", scale_target, ("one", "attention"))
    attends = isinstance(aggregator, Gat | GatV2)
    sums = not isinstance(aggregator, AnyAggregation)
    if scale_target == "attention" and (
        attends or not sums or aggregator.rule.normalization == "symmetric"
    ):
        problem = "would attend twice: the aggregator has attention already"
        raise InputError(
            "localization.edge_scale_target",
            problem if attends else "leads to GAT from sums and means only",
            value=scale_target,
            way_out="take 'one' here, or a mean as aggregator",
        )
