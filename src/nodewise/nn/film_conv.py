r"""GNN-FiLM (Brockschmidt, 2020, https://arxiv.org/abs/1906.12192) on any aggregator.

For a target node v and the members u of its context C_v, with one relation:

.. math::
    h_v = \mathrm{AGGR}(\{ \sigma(\gamma_v \odot W h_u + \beta_v) : u \in C_v \}), \quad
    \gamma_v = \gamma_0 + W_\gamma h_v, \quad \beta_v = W_\beta h_v

gamma_v and beta_v scale and shift every message that v receives. They are generated from the
target's own representation alone, where a localized conv looks at the whole of C_v.

gamma_0 is one, as FiLM's authors have it (Perez et al., 2018, generate gamma - 1): features whose
rows sum to one make W_gamma h_v so small that from zero the messages would hardly be dropped.

PyG's `FiLMConv` is the same layer where it has one relation, `act` is our `message_act`, `aggr` is
"add" or "mean" and our C_v are the edges as given (no added loops), its film's bias is gamma_0 for
gamma and zero for beta, and its branch for the node itself (`lin_skip`, `film_skip`) is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, Parameter

from nodewise.nn.aggregators import AggregationInputs, AggregatorFactory
from nodewise.nn.base_conv import BaseConv, Inputs, times_rows
from nodewise.nn.block import Block
from nodewise.nn.inits import initializer
from nodewise.nn.modulation import Modulations
from nodewise.ops.dispatch import gather_targets, sum_edges
from nodewise.ops.sparse import Features


class FilmConv(BaseConv):
    """A graph convolution whose messages are scaled and shifted by their target.

    Args:
        in_channels: Size of each input row; a pair (source, target) for bipartite graphs.
        out_channels: Size of each output row and head.
        aggregator: AGGR: "gcn", "mean", "sum", "gat", "gin", an `Aggregator`, a function that makes
            one from (out_channels, heads), or any `torch_geometric.nn.aggr` module or its name.
        heads: How many heads, each with its own W, W_gamma and W_beta.
        concat: Whether heads are concatenated (else averaged).
        bias: Whether a bias is added after aggregation.
        message_bias: Whether a bias is added to W h_u, before it is scaled.
        message_act: sigma, applied to the scaled and shifted message; None for none.
        weight_dropout: Rate at which every node drops entries of W; gamma_v and beta_v stay raw.
        message_dropout: Rate at which entries of the messages are dropped.
        scale_start: gamma_0, what gamma_v is for a node without features.
        weight_init: Name of W's initializer.
        modulator_init: Name of the initializer of W_gamma and W_beta.
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
        bias: bool = False,
        message_bias: bool = False,
        message_act: Callable[[Tensor], Tensor] | None = None,
        weight_dropout: float = 0.0,
        message_dropout: float = 0.0,
        scale_start: float = 1.0,
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
        self.scale_start, self.modulator_init = scale_start, modulator_init
        self.to_scale = Parameter(torch.empty(heads, out_channels, self.widths[1]))
        self.to_shift = Parameter(torch.empty(heads, out_channels, self.widths[1]))
        self._start_own_weights()

    def _start_own_weights(self) -> None:
        super()._start_own_weights()
        for weight in (self.to_scale, self.to_shift):
            initializer(self.modulator_init)(weight)

    def forward(
        self,
        x: Inputs,
        edge_index: Tensor | Block,
        edge_weight: Tensor | None = None,
        return_modulations: bool = False,
    ) -> Any:
        """sigma(gamma_v * W h_u + beta_v) on every edge, aggregated.

        Returns:
            The output rows, and with `return_modulations` empty `Modulations`: Eq. 11 holds nothing
            here, W_gamma and W_beta are weights like any other.
        """
        x, x_target, block = self._inputs(x, edge_index, edge_weight)
        inputs = self._aggregation_inputs(x, x_target, block)
        film = self._film(x, x_target, block)
        weight_drops = self.training and self.weight_dropout > 0
        sums_first = self._may_sum_first and not weight_drops
        out = self._filmed_sums(inputs, *film) if sums_first else self._summed_films(inputs, *film)
        out = self._join(out)
        out = out if self.bias is None else out + self.bias
        return (out, Modulations()) if return_modulations else out

    def _summed_films(self, inputs: AggregationInputs, scale: Tensor, shift: Tensor) -> Tensor:
        """AGGR over C_v of sigma(gamma_v * W h_u + beta_v)."""
        neighbors = inputs.block.neighbors
        z = self._global_messages(inputs.x_source, inputs.block)
        if self.message_bias is not None:
            z = z + self.message_bias
        z = gather_targets(scale, neighbors) * z + gather_targets(shift, neighbors)
        if self.message_act is not None:
            z = self.message_act(z)
        return self._aggregate(z, inputs)

    def _filmed_sums(self, inputs: AggregationInputs, scale: Tensor, shift: Tensor) -> Tensor:
        """The same without sigma: gamma_v * sum_u w_uv W h_u + beta_v sum_u w_uv, and no messages.

        gamma_v and beta_v are the same for all of C_v, so they act on the sum.
        """
        total, weight = self._global_sums(inputs)
        neighbors = inputs.block.neighbors
        mass = (
            neighbors.degree.to(total.dtype)
            if weight is None
            else sum_edges(weight, None, neighbors)
        )
        mass = mass.view(len(mass), -1, 1)
        if self.message_bias is not None:
            total = total + self.message_bias * mass
        return scale * total + shift * mass

    def _film(self, x: Features, x_target: Features | None, block: Block) -> tuple[Tensor, Tensor]:
        """gamma_v and beta_v, (targets, H, out) each."""
        weights = [self.to_scale, self.to_shift]
        if x_target is None:
            scale, shift = (block.rows_of_targets(rows) for rows in times_rows(x, weights))
        else:
            scale, shift = times_rows(x_target, weights)
        return self.scale_start + scale, shift

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.in_channels}, {self.out_channels}, "
            f"aggregator={self.aggregator}, heads={self.heads})"
        )
