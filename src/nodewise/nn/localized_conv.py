r"""The paper's layer: every node aggregates with a weight matrix of its own.

Eq. 8, for a target node v and the members u of its context C_v:

.. math::
    h_v = \mathrm{AGGR}(\{ (W_v h_u) \odot a_{uv} + b_{uv} : u \in C_v \}), \quad
    W_v = W \odot a_v + b_v

a_v and b_v scale and shift the columns of the global W; they are generated from the node's context
c_v (Eqs. 4-6). a_uv and b_uv scale and shift each message; they are generated from the edge's two
ends (Eqs. 7-9). W_v is never built: see `nodewise.ops`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from nodewise.nn.base_conv import BaseConv, Inputs, dense_rows, times_rows
from nodewise.nn.block import Block
from nodewise.nn.context import Context, make_context
from nodewise.nn.modulation import (
    BiasModulator,
    EdgeModulator,
    Modulation,
    Modulations,
    NodeModulator,
)
from nodewise.ops.dispatch import (
    gather_targets,
    messages,
    modulate_edges,
    pool_rows,
    project,
)
from nodewise.ops.dropconnect import DropConnect
from nodewise.ops.sparse import Features


def _check_scale_target(scale_target: str, aggregator: Aggregator) -> None:
    """Check that edge scales can be pulled there: to attention only what then becomes GAT."""
    if scale_target not in ("one", "attention"):
        raise UnknownNameError("edge_scale_target", scale_target, ("one", "attention"))
    attends = isinstance(aggregator, Gat | GatV2)
    sums = not isinstance(aggregator, AnyAggregation)
    if scale_target == "attention" and (
        attends or not sums or aggregator.rule.normalization == "symmetric"
    ):
        problem = "would attend twice: the aggregator has attention already"
        raise InputError(
            "edge_scale_target",
            problem if attends else "leads to GAT from sums and means only",
            value=scale_target,
            way_out="take 'one' here, or a mean as aggregator",
        )


class LocalizedConv(BaseConv):
    """A graph convolution whose weights are localized at every node and on every edge.

    Args:
        in_channels: Size of each input row; a pair (source, target) for bipartite graphs.
        out_channels: Size of each output row and head.
        aggregator: AGGR: "gcn", "mean", "sum", "gat", "gin", an `Aggregator`, a function that makes
            one from (out_channels, heads), or any `torch_geometric.nn.aggr` module or its name.
        heads: How many heads, each with its own W and modulators.
        concat: Whether heads are concatenated (else averaged).
        node_level: Whether W is localized at every node (Eqs. 4-6).
        edge_level: Whether messages are localized on every edge (Eqs. 7-9).
        bottleneck: Width of the narrow layer inside the node-level generators; None for one dense
            layer, which has in_channels x in_channels weights.
        context: How C_v becomes c_v: "mean" (Eq. 5), "sum" (under the aggregator's weights), or any
            PyG aggregation.
        bias: Whether a bias is added after aggregation.
        message_bias: Whether a bias is added to W_v h_u, before edge-level modulation.
        localized_bias: Whether the bias itself is scaled and shifted by the context (LGIN).
        message_act: Applied to W_v h_u and its bias, before edge-level modulation (LGIN).
        weight_dropout: Rate at which entries of W_v are dropped (node-wise DropConnect).
        message_dropout: Rate at which entries of the localized messages are dropped.
        edge_scale_target: What the penalty pulls edge scales to: "one", or "attention", GAT's
            coefficients over C_v (times the size of C_v under a mean, which divides by it); for
            aggregators that do not attend themselves.
        weight_init: Name of W's initializer.
        modulator_init: Name of the modulators' initializer.
        bias_init: Name of the initializer of the two biases.

    Shapes:
        - **input:** rows (N, in_channels), dense or `torch.sparse_csr`, or a pair of them;
          `edge_index` (2, E), or a `Block`; `edge_weight` (E,)
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
        context: str | Context | Module = "mean",
        bias: bool = False,
        message_bias: bool = False,
        localized_bias: bool = False,
        message_act: Callable[[Tensor], Tensor] | None = None,
        weight_dropout: float = 0.0,
        message_dropout: float = 0.0,
        edge_scale_target: str = "one",
        weight_init: str = "glorot",
        modulator_init: str = "truncated_he",
        bias_init: str = "zeros",
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            aggregator,
            heads,
            concat,
            bias,
            message_bias,
            message_act,
            weight_dropout,
            message_dropout,
            weight_init,
            bias_init,
        )
        _check_scale_target(edge_scale_target, self.aggregator)
        source, target = self.widths
        self.context = make_context(context)
        self.node_modulator = (
            NodeModulator(source, heads, bottleneck, modulator_init) if node_level else None
        )
        self.edge_modulator = (
            EdgeModulator(target, source, out_channels, heads, modulator_init)
            if edge_level
            else None
        )
        self.bias_modulator = (
            BiasModulator(source, out_channels, heads, modulator_init) if localized_bias else None
        )
        self.attention = (
            Attention(out_channels, heads) if edge_scale_target == "attention" else None
        )
        self._start_own_weights()

    def reset_parameters(self) -> None:
        """Start every weight anew."""
        super().reset_parameters()
        for part in (self.node_modulator, self.edge_modulator, self.bias_modulator, self.attention):
            if part is not None:
                part.reset_parameters()

    def local_parameters(self) -> list[Parameter]:
        """Theta_L: what generates the modulations."""
        parts = (self.node_modulator, self.edge_modulator, self.bias_modulator)
        return [weight for part in parts if part is not None for weight in part.parameters()]

    def forward(
        self,
        x: Inputs,
        edge_index: Tensor | Block,
        edge_weight: Tensor | None = None,
        return_modulations: bool = False,
    ) -> Any:
        """Eq. 8: W_v h_u on every edge, scaled and shifted once more, aggregated.

        Returns:
            The output rows, and with `return_modulations` the `Modulations` that were made.
        """
        x, x_target, block = self._inputs(x, edge_index, edge_weight)
        inputs = self._aggregation_inputs(x, x_target, block)
        if self._sums_first():
            out, bias, made = self._node_level(inputs, sums_first=True)
            out = self._finish(out, bias)
            return (out, Modulations(made)) if return_modulations else out
        z, bias, made = self._node_level(inputs)
        if self.message_bias is not None:
            z = z + (self.message_bias if bias is None else gather_targets(bias, block.neighbors))
        if self.message_act is not None:
            z = self.message_act(z)
        if self.edge_modulator is not None:
            z, edge = self._edge_level(self.edge_modulator, z, x, x_target, block)
            made = [*made, edge]
        out = self._finish(self._aggregate(z, inputs), bias)
        return (out, Modulations(made)) if return_modulations else out

    def _sums_first(self) -> bool:
        """Whether sum_u w_uv W_v h_u may be W_v sum_u w_uv h_u: nothing happens to one message."""
        if self.node_modulator is None:
            pays = not (self.training and self.weight_dropout > 0)
        else:
            pays = isinstance(self.aggregator, Sum) and self.aggregator.is_fixed
        linear = self._may_sum_first and self.message_bias is None
        return linear and self.edge_modulator is None and pays

    def _node_level(
        self, inputs: AggregationInputs, *, sums_first: bool = False
    ) -> tuple[Tensor, Tensor | None, list[Modulation]]:
        """W_v h_u (E, H, out), the localized bias (targets, H, out) if any, and what was made.

        With `sums_first`, instead of W_v h_u its weighted sum over C_v, (targets, H, out).
        """
        x, block = inputs.x_source, inputs.block
        node, bias = self.node_modulator, self.bias_modulator
        reduces = [] if node is None else node.reduces
        biases = [] if bias is None else [bias.to_scale, bias.to_shift]
        products = self._times_context(x, block, [*reduces, *biases])
        made: list[Modulation] = []
        if node is None:
            z = self._global_sums(inputs)[0] if sums_first else self._global_messages(x, block)
        else:
            codes = products[:2] if reduces else self._unreduced_codes(x, block)
            expands = (node.to_scale.expand, node.to_shift.expand)
            scale, shift = zip(codes, expands, strict=True)
            drop = DropConnect.draw(self.weight_dropout, self.training)
            rows, neighbors = x, block.neighbors
            if sums_first:
                rows, neighbors = pool_rows(x, block.coefficient, neighbors), neighbors.identity()
            z = messages(rows, self.weight, scale, shift, neighbors, drop)
            made.append(node.modulation(scale, shift))
        if bias is None:
            return z, None, made
        base = self.message_bias if self.bias is None else self.bias.view(self.heads, -1)
        localized, of_bias = bias(base, *products[-2:])
        return z, localized, [*made, of_bias]

    def _times_context(self, x: Features, block: Block, weights: Sequence[Tensor]) -> list[Tensor]:
        """Each (H, k, in) matrix times c_v, as (targets, H, k): one product for all of them."""
        if not weights:
            return []
        flat = torch.cat([weight.flatten(0, 1) for weight in weights])
        if self.context.is_linear:
            rows = self.context(project(x, flat), block)
        else:
            rows = project(self.context(dense_rows(x), block), flat)
        parts = rows.split([weight.size(0) * weight.size(1) for weight in weights], 1)
        shapes = [weight.shape[:2] for weight in weights]
        # In one piece each: every kernel that is given one would make a copy of its own.
        return [part.reshape(-1, *s).contiguous() for part, s in zip(parts, shapes, strict=True)]

    def _unreduced_codes(self, x: Features, block: Block) -> list[Tensor]:
        """Codes of generators without a narrow layer: c_v itself, once for each head."""
        context: Tensor = self.context(dense_rows(x), block)
        return [context[:, None].expand(-1, self.heads, -1)] * 2

    def _edge_level(
        self,
        modulator: EdgeModulator,
        z: Tensor,
        x: Features,
        x_target: Features | None,
        block: Block,
    ) -> tuple[Tensor, Modulation]:
        """Messages scaled and shifted by their edges' two ends."""
        targets = [modulator.to_scale.target, modulator.to_shift.target]
        sources = [modulator.to_scale.source, modulator.to_shift.source]
        if x_target is None:
            halves = times_rows(x, [*targets, *sources])
            of_target = [block.rows_of_targets(half) for half in halves[:2]]
            of_source = halves[2:]
        else:
            of_target, of_source = times_rows(x_target, targets), times_rows(x, sources)
        scale, shift = (of_target[0], of_source[0]), (of_target[1], of_source[1])
        z, a, b = modulate_edges(z, scale, shift, block.neighbors)
        made = modulator.modulation(scale, shift, (a, b), block.neighbors)
        if self.attention is None:
            return z, made
        alpha = self.attention.of_nodes(x, x_target, self.weight, block)
        if self.aggregator.rule.normalization in ("mean", "count"):
            # The paper drops this factor: a mean of C_v divides by it once more.
            alpha = alpha * block.neighbors.degree[block.neighbors.target, None]
        return z, replace(made, attention=alpha)

    def _finish(self, out: Tensor, localized_bias: Tensor | None) -> Tensor:
        """Join the heads and add the bias that comes last."""
        if self.bias is not None and localized_bias is not None:
            out = out + localized_bias
        out = self._join(out)
        return out if self.bias is None or localized_bias is not None else out + self.bias

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
