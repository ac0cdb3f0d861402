"""A stack of convolutions that classifies nodes; and LGCN, LGAT, LGIN, built from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from torch import Tensor
from torch.nn import Module, ModuleList, Parameter
from torch.nn.functional import elu
from torch_geometric.nn.inits import reset

from nodewise.errors import InputError
from nodewise.models.linear_ends import LinearEnds
from nodewise.models.receptive_field import ReceptiveField
from nodewise.nn.base_conv import BaseConv
from nodewise.nn.block import Block
from nodewise.nn.dense import Dense
from nodewise.nn.edges import check_no_weights, plain_edges
from nodewise.nn.film_conv import FilmConv
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.nn.modulation import Modulations
from nodewise.nn.options import LocalizationOptions
from nodewise.nn.pyg_arguments import check_sizes
from nodewise.nn.typed_call import TypedCall
from nodewise.ops.dispatch import dropout
from nodewise.ops.safety import check_index
from nodewise.ops.sparse import (
    Features,
    SparseRows,
    as_features,
    check_precision,
    num_rows,
    take_rows,
)

Act = Callable[[Tensor], Tensor]


class Classifier(Module):
    """Layers with dropout in front of each and an activation between them.

    With linear `ends` the layers have one width: a linear layer in front brings the features to it,
    and a last one makes logits of the rows. Deep stacks need that, residuals and a norm.

    Args:
        convs: The layers; none for layers that consist of `roots` alone, without a graph.
        dropout: Rate at which entries of each layer's input are dropped.
        act: Activation between layers.
        output_act: Activation of the last layer; None for none.
        residual: Whether a layer between two of the same width adds its input to its output.
        norms: What normalizes the hidden rows before their activation, a module for each hidden
            layer, or nothing.
        feature_dropout: Rate at which entries of the features are dropped; None for `dropout`.
        roots: A separate weight for the node itself, added to each conv's output, or nothing.
        ends: The linear layers in front and behind, or None.
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
        norms: Sequence[Module] = (),
        feature_dropout: float | None = None,
        roots: Sequence[Module] = (),
        ends: LinearEnds | None = None,
    ) -> None:
        super().__init__()
        self.convs = ModuleList(convs)
        self.dropout, self.act, self.output_act = dropout, act, output_act
        self.feature_dropout = dropout if feature_dropout is None else feature_dropout
        self.residual, self.depth = residual, max(len(convs), len(roots))
        self.norms, self.roots, self.ends = ModuleList(norms), ModuleList(roots), ends

    @property
    def layers(self) -> list[BaseConv]:
        """The convs, first to last."""
        return cast(list[BaseConv], list(self.convs))

    @property
    def uses_edge_weights(self) -> bool:
        """Whether any layer uses edge weights, or none uses edges."""
        used = [conv.aggregator.uses_edge_weights for conv in self.layers]
        return self.needs_all_nodes or not used or any(used)

    @property
    def needs_all_nodes(self) -> bool:
        """Whether features spread over so many hops that a receptive field saves nothing."""
        return self.ends is not None and self.ends.hops > 0

    @property
    def _first_weight(self) -> Tensor:
        """A weight whose type and device are those of all."""
        return next(self.parameters())

    def reset_parameters(self) -> None:
        """Initialize all weights again."""
        for part in (*self.convs, *self.norms, *self.roots, self.ends):
            reset(part)

    def global_parameters(self) -> list[Parameter]:
        """Theta_G of all layers; scales and biases of norms are not penalized."""
        shared = [part for part in (self.ends, *self.roots) if part is not None]
        weights = [weight for conv in self.layers for weight in conv.global_parameters()]
        return [*weights, *(weight for part in shared for weight in part.parameters())]

    def local_parameters(self) -> list[Parameter]:
        """Theta_L of all layers."""
        return [weight for conv in self.layers for weight in conv.local_parameters()]

    def receptive_field(
        self, edge_index: Tensor, num_nodes: int, targets: Tensor, edge_weight: Tensor | None = None
    ) -> ReceptiveField:
        """The nodes and edges that the outputs of `targets` depend on; build it once.

        Call the model on it: `model(field.take(x), field)` gives the rows of `targets`.

        Raises:
            InputError: The model needs all nodes.
        """
        if self.needs_all_nodes:
            raise InputError(
                "hops", "the model needs all nodes", way_out="call it on the full graph"
            )
        sizes = (num_nodes, num_nodes)
        given = (edge_index, edge_weight, sizes, self._first_weight)
        edge_index, edge_weight = plain_edges(*given)
        check_index("targets", targets, num_nodes, of="nodes")
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
        rows, modulations = self._through(self.depth, x, edge_index, edge_weight)
        logits = self.head(cast(Tensor, rows))
        return (logits, modulations) if return_modulations else logits

    def head(self, rows: Tensor) -> Tensor:
        """Logits from the rows after the last layer; without linear ends, these rows themselves."""
        if self.ends is None:
            return rows
        logits: Tensor = self.ends.head(dropout(rows, self.dropout, self.training))
        return logits if self.output_act is None else self.output_act(logits)

    def layer(self, i: int, x: Features, graph: Block | None) -> Tensor:
        """The rows of a block's targets after layer `i`, without dropout of its input.

        Args:
            i: The number of the layer.
            x: The rows of the block's sources.
            graph: The block; None for a model that uses no graph.
        """
        return self._finish(i, self._layer(i, x, graph, None)[0], x, graph)

    def embed(
        self, x: Features, edge_index: Tensor | ReceptiveField, edge_weight: Tensor | None = None
    ) -> Tensor:
        """The input of the last layer: a row for each node, (N, width).

        Args:
            x: Node features, as `forward` takes them.
            edge_index: The edges, as `forward` takes them.
            edge_weight: A weight for each edge, where the aggregator takes one.
        """
        count = self.depth if self.ends is not None else self.depth - 1
        rows, _ = self._through(count, x, edge_index, edge_weight)
        return rows.dense() if isinstance(rows, SparseRows) else rows

    def first_rows(
        self, x: Features, edge_index: Tensor, edge_weight: Tensor | None = None
    ) -> Features:
        """The input of the first conv, before dropout: the features, or what `ends` makes of them.

        Args:
            x: The features, as `forward` takes them.
            edge_index: The edges, as `forward` takes them.
            edge_weight: A weight for each edge, where the aggregator takes one.
        """
        return self._through(0, x, edge_index, edge_weight)[0]

    def layer_inputs(
        self, x: Features, edge_index: Tensor, edge_weight: Tensor | None = None
    ) -> list[Features]:
        """The input of every layer, before dropout, first to last.

        Args:
            x: The features, as `forward` takes them.
            edge_index: The edges, as `forward` takes them.
            edge_weight: A weight for each edge, where the aggregator takes one.
        """
        graph = (edge_index, edge_weight)
        return [self._through(count, x, *graph)[0] for count in range(self.depth)]

    def _through(
        self,
        count: int,
        x: Features,
        edge_index: Tensor | ReceptiveField,
        edge_weight: Tensor | None,
    ) -> tuple[Features, Modulations]:
        """Rows after the first `count` layers, and the modulations of all layers."""
        x, modulations, weight = as_features(x), Modulations(), self._first_weight
        check_precision("x", x, weight)
        if isinstance(edge_index, ReceptiveField):
            edge_index.check_rows(x)
            check_no_weights(edge_weight, "the coefficients of a receptive field")
        else:
            # Once for all layers: torch cannot add up several gradients of a sparse matrix.
            sizes = (num_rows(x), num_rows(x))
            edge_index, edge_weight = plain_edges(edge_index, edge_weight, sizes, weight)
        rate = self.feature_dropout
        if self.ends is not None:
            x = self.act(self.ends.front(dropout(x, rate, self.training), edge_index, edge_weight))
            rate = self.dropout
        for i, graph in enumerate(self._graphs(edge_index)[:count]):
            dropped = dropout(x, rate, self.training)
            out, more = self._layer(i, dropped, graph, edge_weight)
            x, modulations, rate = self._finish(i, out, x, graph), modulations + more, self.dropout
        return x, modulations

    def _graphs(self, graph: Tensor | ReceptiveField) -> Sequence[Any]:
        """The graph of each layer: its block of a receptive field, or the edges."""
        if isinstance(graph, ReceptiveField) and self.layers:
            return graph.blocks
        return [graph] * self.depth

    def _layer(
        self, i: int, x: Features, graph: Tensor | Block | None, edge_weight: Tensor | None
    ) -> tuple[Tensor, Modulations]:
        """The conv's output plus that of the root's weight, and the modulations."""
        if not self.layers:
            return self.roots[i](x), Modulations()
        assert graph is not None
        out, modulations = self.layers[i](x, graph, edge_weight, return_modulations=True)
        if self.roots:
            out = cast(Dense, self.roots[i]).plus(out, of_targets(x, graph))
        return out, modulations

    def _finish(self, i: int, out: Tensor, x: Features, graph: Tensor | Block | None) -> Tensor:
        """A layer's output after the normalization, activation and residual of this stack."""
        if self.ends is None and i + 1 == self.depth:
            return out if self.output_act is None else self.output_act(out)
        out = self.act(self.norms[i](out) if len(self.norms) else out)
        if self.residual and isinstance(x, Tensor) and x.size(1) == out.size(1):
            out = out + cast(Tensor, of_targets(x, graph))
        return out


def of_targets(x: Features, graph: Tensor | Block | None) -> Features:
    """The rows of a layer's targets among those of its sources."""
    if not isinstance(graph, Block) or graph.targets is None:
        return x
    return take_rows(x, graph.targets)


LayerSizes = Sequence[tuple[int, int, int]]


def layer_sizes(
    in_channels: int, hidden_channels: int, out_channels: int, num_layers: int, heads: int = 1
) -> LayerSizes:
    """Input width, width of a head and heads, layer by layer.

    Heads are concatenated before the last layer, which has one.
    """
    widths = [in_channels, *[heads * hidden_channels] * (num_layers - 1)]
    sizes = [(hidden_channels, heads)] * (num_layers - 1) + [(out_channels, 1)]
    return [(width, *size) for width, size in zip(widths, sizes, strict=True)]


def localized_convs(sizes: LayerSizes, bottleneck: int = 0, **conv: Any) -> list[LocalizedConv]:
    """The layers of a localized stack.

    Args:
        sizes: What `layer_sizes` returned.
        bottleneck: Width of the narrow layer in the node-level generators; 0 has one as wide as a
            head in the first layer, and none in the others.
        **conv: Further arguments of every `LocalizedConv`.
    """
    narrow = [bottleneck or (None if i else size) for i, (_, size, _) in enumerate(sizes)]
    return [
        LocalizedConv(width, size, heads=heads, bottleneck=between, **conv)
        for (width, size, heads), between in zip(sizes, narrow, strict=True)
    ]


def film_convs(sizes: LayerSizes, **conv: Any) -> list[FilmConv]:
    """The layers of a stack of GNN-FiLM; see `layer_sizes` and `FilmConv` for the arguments."""
    return [FilmConv(width, size, heads=heads, **conv) for width, size, heads in sizes]


class LocalizedStack(Classifier):
    """Layers localized at nodes and on edges (Eqs. 4-9), in the form the paper prints.

    Args:
        in_channels: Size of the input features, or -1 for that of the first input.
        hidden_channels: Width of a head in the hidden layers, and of the first layer's bottleneck.
        out_channels: How many classes.
        num_layers: How many layers; the last has one head.
        heads: Heads of the layers before the last, concatenated.
        dropout: Rate at which entries of each layer's input are dropped.
        act: Activation between layers.
        output_act: Activation of the logits; None for none.
        **conv: Further arguments of every `LocalizedConv`.
    """

    aggregator: ClassVar[str]

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 2,
        heads: int = 1,
        dropout: float = 0.4,
        act: Act = elu,
        output_act: Act | None = None,
        **conv: Any,
    ) -> None:
        options = {"aggregator": self.aggregator, **conv}
        check_sizes(num_layers=num_layers)  # below one, the lists of layers would still have one
        sizes = layer_sizes(in_channels, hidden_channels, out_channels, num_layers, heads)
        super().__init__(localized_convs(sizes, **options), dropout, act, output_act)


class LGCN(LocalizedStack):
    """GCN, localized; see `LocalizedStack` for the arguments."""

    aggregator = "gcn"


class LGAT(LocalizedStack):
    """GAT, localized: every head of the first layers has a separate weight and modulators.

    Args:
        in_channels: Size of the input features, or -1 for that of the first input.
        hidden_channels: Width of each head, and of the first layer's bottleneck.
        out_channels: How many classes.
        heads: Heads of the layers before the last, concatenated.
        dropout: Rate at which entries of each layer's input are dropped.
        **kwargs: Further arguments of `LocalizedStack`.
    """

    aggregator = "gat"

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        heads: int = 8,
        dropout: float = 0.6,
        **kwargs: Any,
    ) -> None:
        widths = (in_channels, hidden_channels, out_channels)
        super().__init__(*widths, heads=heads, dropout=dropout, **kwargs)


class LGIN(LocalizedStack):
    """GIN, localized: sums over neighbors and self, and a bias that is localized too.

    With the one-layer MLPs of the paper's parameter counts, the MLP is W and the bias of the layer.

    Args:
        in_channels: Size of the input features, or -1 for that of the first input.
        hidden_channels: Width of the hidden layers, and of the first layer's bottleneck.
        out_channels: How many classes.
        bias: Whether layers have a bias.
        localization: What is localized, and how; the bias always is.
        **kwargs: Further arguments of `LocalizedStack`.
    """

    aggregator = "gin"

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        bias: bool = True,
        localization: LocalizationOptions = LocalizationOptions(),
        **kwargs: Any,
    ) -> None:
        widths = (in_channels, hidden_channels, out_channels)
        localization = replace(localization, bias=True)
        super().__init__(*widths, bias=bias, localization=localization, **kwargs)
