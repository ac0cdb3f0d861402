r"""GNN-FiLM (Brockschmidt, 2020, https://arxiv.org/abs/1906.12192) on any aggregator.

For a target node v and the members u of its context C_v, with one relation:

.. math::
    h_v = \mathrm{AGGR}(\{ \sigma(\gamma_v \odot W h_u + \beta_v) : u \in C_v \}), \quad
    \gamma_v = \gamma_0 + W_\gamma h_v, \quad \beta_v = W_\beta h_v

gamma_v and beta_v scale and shift every message that v receives. They are functions of the
target's representation alone; those of a localized conv are functions of all nodes in C_v.

gamma_0 is one, as in FiLM (Perez et al., 2018, generate gamma - 1): where rows of features sum to
one, W_gamma h_v is so small that without gamma_0 messages would nearly vanish.

PyG's `FiLMConv` is the same layer where it has one relation, `act` is our `message.act`, `aggr` is
"add" or "mean" and our C_v are the edges as given (no added loops), its film's bias is gamma_0 for
gamma and zero for beta, and its branch for the node itself (`lin_skip`, `film_skip`) is zero.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn import Module

from nodewise.nn.aggregators import AggregationInputs, AggregatorFactory
from nodewise.nn.autocast import without_autocast
from nodewise.nn.base_conv import BaseConv, Inputs, times_rows
from nodewise.nn.block import Block
from nodewise.nn.inits import initialize
from nodewise.nn.lazy import new_weight
from nodewise.nn.modulation import Modulations
from nodewise.nn.options import DropRates, Inits, MessageOptions
from nodewise.ops.dispatch import gather_targets, sum_edges
from nodewise.ops.sparse import Features


class FilmConv(BaseConv):
    """A graph convolution whose messages are scaled and shifted by their target.

    Args:
        in_channels: Size of each input row, or -1 for that of the first input; a pair (source,
            target) for bipartite graphs.
        out_channels: Size of each output row and head.
        aggregator: AGGR: "gcn", "mean", "sum", "gat", "gatv2", "gin", an `Aggregator`, a function
            that returns one from (out_channels, heads), or any `torch_geometric.nn.aggr` module or
            its name.
        heads: How many heads, each with separate W, W_gamma and W_beta.
        concat: Whether heads are concatenated (else averaged).
        bias: Whether a bias is added after aggregation.
        message: A bias added to W h_u, before it is scaled, and sigma, applied to the scaled and
            shifted message.
        drop_rates: Dropout of entries of W, for each node separately, and of the messages.
        inits: Names of the initializers; that of modulators is for W_gamma and W_beta.
        scale_start: gamma_0, the value of gamma_v for a node without features.
        **kwargs: Arguments of PyG's convs: accepted where they ask for what this layer does,
            refused by name otherwise.

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
        bias: bool = False,
        message: MessageOptions = MessageOptions(),
        drop_rates: DropRates = DropRates(),
        inits: Inits = Inits(),
        scale_start: float = 1.0,
        **kwargs: Any,
    ) -> None:
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
        self.scale_start = scale_start
        shape = (heads, out_channels, self._widths_or_slots()[1])
        self.to_scale = new_weight(*shape, init=inits.modulator)
        self.to_shift = new_weight(*shape, init=inits.modulator)
        self._reset_weights()

    def _reset_weights(self) -> None:
        super()._reset_weights()
        for weight in (self.to_scale, self.to_shift):
            initialize(weight, self.inits.modulator)

    @without_autocast
    def forward(
        self,
        x: Inputs,
        edge_index: Tensor | Block,
        edge_weight: Tensor | None = None,
        return_modulations: bool = False,
    ) -> Tensor | tuple[Tensor, Modulations]:
        """sigma(gamma_v * W h_u + beta_v) on every edge, aggregated.

        Returns:
            The output rows, and with `return_modulations` empty `Modulations`: Eq. 11
            penalizes no modulations here, W_gamma and W_beta are weights like any other.
        """
        x, x_target, block = self._inputs(x, edge_index, edge_weight)
        inputs = self._aggregation_inputs(x, x_target, block)
        film = self._film(x, x_target, block)
        filmed = self._summed_films if self.rows_per_edge else self._filmed_sums
        out = filmed(inputs, *film)
        out = self._join(out)
        out = out if self.bias is None else out + self.bias
        return (out, Modulations()) if return_modulations else out

    @property
    def rows_per_edge(self) -> int:
        """Message, scale, shift, and two products of them; none where sums come first."""
        weight_drops = self.training and self.drop_rates.weight > 0
        return 0 if self._may_sum_first and not weight_drops else 5

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
        weight_sum = (
            neighbors.degree.to(total.dtype)
            if weight is None
            else sum_edges(weight, None, neighbors)
        )
        weight_sum = (weight_sum if weight_sum.dim() == 2 else weight_sum[:, None])[..., None]
        if self.message_bias is not None:
            total = total + self.message_bias * weight_sum
        return scale * total + shift * weight_sum

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
