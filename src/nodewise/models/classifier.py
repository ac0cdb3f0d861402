"""A stack of convolutions that classifies nodes; and LGCN, LGAT, LGIN, built from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from torch import Tensor
from torch.nn import LayerNorm, Module, ModuleList, Parameter
from torch.nn.functional import elu

from nodewise.models.receptive_field import ReceptiveField
from nodewise.nn.base_conv import BaseConv
from nodewise.nn.block import Block
from nodewise.nn.edges import plain_edges
from nodewise.nn.film_conv import FilmConv
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.nn.modulation import Modulations
from nodewise.nn.options import LocalizationOptions
from nodewise.nn.typed_call import TypedCall
from nodewise.ops.dispatch import dropout
from nodewise.ops.sparse import Features, SparseRows, as_features, num_rows

Act = Callable[[Tensor], Tensor]


class Classifier(Module):
    """Layers with dropout in front of each and an activation between them.

    Args:
        convs: The layers.
        dropout: Rate at which entries of each layer's input are dropped.
        act: Activation between layers.
        output_act: Activation of the last layer; None for none.
        residual: Whether a layer between two of the same width adds its input to its output.
        layer_norm: Whether hidden rows are normalized before their activation.
    """

    if TYPE_CHECKING:
        __call__: TypedCall[Features, Tensor | ReceptiveField]

    def __init__(
        self,
        convs: Sequence[BaseConv],
        dropout: float = 0.0,
        act: Act = elu,
        output_act: Act | None = None,
        residual: bool = False,
        layer_norm: bool = False,
    ) -> None:
        super().__init__()
        self.convs = ModuleList(convs)
        self.dropout, self.act, self.output_act = dropout, act, output_act
        self.residual = residual
        hidden = [conv.heads * conv.out_channels for conv in convs[:-1]] if layer_norm else []
        self.norms = ModuleList(LayerNorm(width) for width in hidden)

    @property
    def layers(self) -> list[BaseConv]:
        """The layers, first to last."""
        return cast(list[BaseConv], list(self.convs))

    @property
    def uses_edge_weights(self) -> bool:
        """Whether any layer uses edge weights."""
        return any(conv.aggregator.uses_edge_weights for conv in self.layers)

    def reset_parameters(self) -> None:
        """Initialize all weights again."""
        for conv in self.layers:
            conv.reset_parameters()
        for norm in self.norms:
            cast(LayerNorm, norm).reset_parameters()

    def global_parameters(self) -> list[Parameter]:
        """Theta_G of all layers."""
        return [weight for conv in self.layers for weight in conv.global_parameters()]

    def local_parameters(self) -> list[Parameter]:
        """Theta_L of all layers."""
        return [weight for conv in self.layers for weight in conv.local_parameters()]

    def receptive_field(
        self, edge_index: Tensor, num_nodes: int, targets: Tensor, edge_weight: Tensor | None = None
    ) -> ReceptiveField:
        """The nodes and edges that the outputs of `targets` depend on; build it once.

        Call the model on it: `model(field.take(x), field)` gives the rows of `targets`.
        """
        sizes = (num_nodes, num_nodes)
        dtype = self.layers[0].weight.dtype
        edge_index, edge_weight = plain_edges(edge_index, edge_weight, sizes, dtype)
        blocks = [conv.block(edge_index, sizes, edge_weight) for conv in self.layers]
        return ReceptiveField.of(blocks, targets)

    def forward(
        self,
        x: Features,
        edge_index: Tensor | ReceptiveField,
        edge_weight: Tensor | None = None,
        return_modulations: bool = False,
    ) -> Tensor | tuple[Tensor, Modulations]:
        """Logits (N, classes), and with `return_modulations` the `Modulations` of all layers.

        Args:
            x: Node features, dense or `torch.sparse_csr`; of a field, the rows of its nodes.
            edge_index: The edges (2, E), an `EdgeIndex`, a `torch.sparse` adjacency, or a
                `ReceptiveField`.
            edge_weight: A weight for each edge, where the aggregator takes one.
            return_modulations: Whether to return the modulations, too; the penalty needs them.
        """
        rows, modulations = self._through(len(self.layers), x, edge_index, edge_weight)
        logits = cast(Tensor, rows)
        return (logits, modulations) if return_modulations else logits

    def embed(
        self, x: Features, edge_index: Tensor | ReceptiveField, edge_weight: Tensor | None = None
    ) -> Tensor:
        """The input of the last layer: a row for each node, (N, width).

        Args:
            x: Node features, as `forward` takes them.
            edge_index: The edges, as `forward` takes them.
            edge_weight: A weight for each edge, where the aggregator takes one.
        """
        rows, _ = self._through(len(self.layers) - 1, x, edge_index, edge_weight)
        return rows.dense() if isinstance(rows, SparseRows) else rows

    def _through(
        self,
        count: int,
        x: Features,
        edge_index: Tensor | ReceptiveField,
        edge_weight: Tensor | None,
    ) -> tuple[Features, Modulations]:
        """Rows after the first `count` layers, and the modulations of all layers."""
        x, modulations = as_features(x), Modulations()
        if not isinstance(edge_index, ReceptiveField):
            # Once for all layers: torch cannot add up several gradients of a sparse matrix.
            sizes, dtype = (num_rows(x), num_rows(x)), self.layers[0].weight.dtype
            edge_index, edge_weight = plain_edges(edge_index, edge_weight, sizes, dtype)
        for i, conv in enumerate(self.layers[:count]):
            graph = edge_index.blocks[i] if isinstance(edge_index, ReceptiveField) else edge_index
            out, more = conv(
                dropout(x, self.dropout, self.training), graph, edge_weight, return_modulations=True
            )
            x, modulations = self._finish(i, out, x, graph), modulations + more
        return x, modulations

    def _finish(self, i: int, out: Tensor, x: Features, graph: Tensor | Block) -> Tensor:
        """A layer's output after the normalization, activation and residual of this stack."""
        if i + 1 == len(self.layers):
            return out if self.output_act is None else self.output_act(out)
        out = self.act(self.norms[i](out) if len(self.norms) else out)
        if self.residual and isinstance(x, Tensor) and x.size(1) == out.size(1):
            out = out + (graph.rows_of_targets(x) if isinstance(graph, Block) else x)
        return out


def layer_sizes(
    in_channels: int, hidden_channels: int, out_channels: int, num_layers: int, heads: int = 1
) -> list[tuple[int, int, int]]:
    """Input width, width of a head and heads, layer by layer.

    Heads are concatenated before the last layer, which has one.
    """
    widths = [in_channels, *[heads * hidden_channels] * (num_layers - 1)]
    sizes = [(hidden_channels, heads)] * (num_layers - 1) + [(out_channels, 1)]
    return [(width, *size) for width, size in zip(widths, sizes, strict=True)]


def localized_convs(
    in_channels: int,
    hidden_channels: int,
    out_channels: int,
    num_layers: int,
    heads: int = 1,
    **conv: Any,
) -> list[LocalizedConv]:
    """The layers of a localized stack; see `layer_sizes`.

    The first layer's generators have a bottleneck as wide as a head; see `LGCN` for the arguments.
    """
    sizes = layer_sizes(in_channels, hidden_channels, out_channels, num_layers, heads)
    return [
        LocalizedConv(width, size, heads=count, bottleneck=None if i else hidden_channels, **conv)
        for i, (width, size, count) in enumerate(sizes)
    ]


def film_convs(
    in_channels: int,
    hidden_channels: int,
    out_channels: int,
    num_layers: int,
    heads: int = 1,
    **conv: Any,
) -> list[FilmConv]:
    """The layers of a stack of GNN-FiLM; see `layer_sizes` and `FilmConv` for the arguments."""
    sizes = layer_sizes(in_channels, hidden_channels, out_channels, num_layers, heads)
    return [FilmConv(width, size, heads=count, **conv) for width, size, count in sizes]


class LGCN(Classifier):
    """GCN, localized (Eqs. 4-9), in the form the paper prints.

    Args:
        in_channels: Size of the input features, or -1 for that of the first input.
        hidden_channels: Width of the hidden layers, and of the first layer's bottleneck.
        out_channels: How many classes.
        num_layers: How many layers.
        dropout: Rate at which entries of each layer's input are dropped.
        output_act: Activation of the logits; None for none.
        **conv: Further arguments of every `LocalizedConv`.
    """

    aggregator = "gcn"

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int = 8,
        out_channels: int = 2,
        num_layers: int = 2,
        dropout: float = 0.4,
        output_act: Act | None = None,
        **conv: Any,
    ) -> None:
        options = {"aggregator": self.aggregator, **conv}
        sizes = (in_channels, hidden_channels, out_channels, num_layers)
        super().__init__(localized_convs(*sizes, **options), dropout, output_act=output_act)


class LGIN(LGCN):
    """GIN, localized: sums over neighbors and self, and a bias that is localized too.

    With the one-layer MLPs of the paper's parameter counts, the MLP is W and the bias of the layer;
    see `LGCN` for the arguments.
    """

    aggregator = "gin"

    def __init__(
        self,
        *args: Any,
        bias: bool = True,
        localization: LocalizationOptions = LocalizationOptions(),
        **kwargs: Any,
    ) -> None:
        localization = replace(localization, bias=True)
        super().__init__(*args, bias=bias, localization=localization, **kwargs)


class LGAT(LGCN):
    """GAT, localized: every head of the first layers has a separate weight and modulators.

    Args:
        in_channels: Size of the input features, or -1 for that of the first input.
        hidden_channels: Width of each head, and of the first layer's bottleneck.
        out_channels: How many classes.
        num_layers: How many layers; the last has one head.
        heads: Heads of the layers before the last, concatenated.
        dropout: Rate at which entries of each layer's input are dropped.
        **kwargs: Further arguments of `LGCN`.
    """

    aggregator = "gat"

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int = 8,
        out_channels: int = 2,
        num_layers: int = 2,
        heads: int = 8,
        dropout: float = 0.6,
        **kwargs: Any,
    ) -> None:
        sizes = (in_channels, hidden_channels, out_channels, num_layers)
        super().__init__(*sizes, dropout=dropout, heads=heads, **kwargs)
