"""The settings of a model beyond its name and sizes: the model's part of a recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from torch import Tensor
from torch.nn import BatchNorm1d, Module
from torch.nn.functional import elu, leaky_relu, relu

from nodewise.models.classifier import Act, Classifier, LayerSizes, layer_sizes
from nodewise.models.linear_ends import LinearEnds
from nodewise.nn.base_conv import BaseConv
from nodewise.nn.block import BlockRule
from nodewise.nn.dense import Dense
from nodewise.nn.options import DropRates, Inits, LocalizationOptions, MessageOptions
from nodewise.nn.row_norm import RowNorm

Normalization = Literal["default", "none", "symmetric", "mean", "count"]
ActName = Literal["none", "elu", "relu", "leaky_relu"]
InitName = Literal["glorot", "truncated_he", "small_uniform", "zeros"]


def identity(x: Tensor) -> Tensor:
    """x itself."""
    return x


def _leaky(x: Tensor) -> Tensor:
    return leaky_relu(x, 0.2)


_ACTS: dict[str, Act | None] = {"none": None, "elu": elu, "relu": relu, "leaky_relu": _leaky}


@dataclass(frozen=True)
class Architecture:
    """How a model of the zoo is built; the defaults are the paper's.

    Attributes:
        hidden_channels: Width of the hidden layers, of each head where there are heads.
        num_layers: How many layers.
        heads: Heads of the layers before the last, for models with attention.
        context: How C_v becomes c_v: "mean", "sum" under the aggregator's weights, or the name of a
            PyG aggregation.
        normalization: The weight of a message; "default" is that of the backbone (GCN: symmetric,
            GIN: none).
        self_weight: The weight of a node in its own C_v, before normalization.
        max_neighbors: The largest size of C_v, the first by number; 0 keeps all.
        input_dropout: Rate on each layer's input.
        weight_dropout: Rate on the entries of every W_v.
        message_dropout: Rate on the entries of localized messages.
        attention_dropout: Rate on attention coefficients.
        act: Activation between layers.
        message_act: Activation of a message before it is localized on its edge; in FiLM, after it
            is scaled and shifted.
        output_act: Activation of the logits.
        residual: Whether a layer between two of the same width adds its input to its output.
        layer_norm: Whether hidden rows are normalized before their activation.
        batch_norm: Whether hidden features are normalized over all nodes before their activation.
        root: Whether each layer has a separate weight for the node itself.
        linear_ends: Whether all layers have one width, between a linear layer on the features and
            one that gives the logits.
        hops: Over how many hops features spread before the first layer, with `linear_ends`.
        node_dropout: Rate at which nodes are dropped where features spread.
        feature_dropout: Rate on the features; below zero it is `input_dropout`.
        bottleneck: Width of the narrow layer of node-level generators; 0 has one as wide as a head
            in the first layer and none in the others.
        bias: Whether a bias is added after aggregation.
        message_bias: Whether a bias is added to every message.
        attention_bias: Whether the two attention scores have a bias each.
        attention_scores: The input of attention: "global", W h of both ends, or "messages".
        edge_scale_target: The value from which the penalty measures edge scales: "one" or
            "attention".
        generator_row_sum: What the absolute values of a row sum to where generators see it; 0
            leaves rows as they are.
        weight_init: Initializer of W.
        modulator_init: Initializer of the generators.
        attention_init: Initializer of the attention vectors.
        bias_init: Initializer of the biases.
    """

    hidden_channels: int = 8
    num_layers: int = 2
    heads: int = 8
    context: str = "mean"
    normalization: Normalization = "default"
    self_weight: float = 1.0
    max_neighbors: int = 0
    input_dropout: float = 0.0
    weight_dropout: float = 0.0
    message_dropout: float = 0.0
    attention_dropout: float = 0.0
    act: ActName = "elu"
    message_act: ActName = "none"
    output_act: ActName = "none"
    residual: bool = False
    layer_norm: bool = False
    batch_norm: bool = False
    root: bool = False
    linear_ends: bool = False
    hops: int = 0
    node_dropout: float = 0.0
    feature_dropout: float = -1.0
    bottleneck: int = 0
    bias: bool = False
    message_bias: bool = False
    attention_bias: bool = False
    attention_scores: Literal["global", "messages"] = "global"
    edge_scale_target: Literal["one", "attention"] = "one"
    generator_row_sum: float = 0.0
    weight_init: InitName = "glorot"
    modulator_init: InitName = "truncated_he"
    attention_init: InitName = "glorot"
    bias_init: InitName = "zeros"

    def rule(self, default: BlockRule) -> BlockRule:
        """The rule that defines C_v: the backbone's, with the settings of this architecture."""
        normalization = (
            default.normalization if self.normalization == "default" else self.normalization
        )
        return replace(
            default,
            normalization=normalization,
            self_weight=self.self_weight,
            max_neighbors=self.max_neighbors or None,
        )

    def conv_options(self) -> dict[str, Any]:
        """Arguments that every conv takes."""
        return {
            "bias": self.bias,
            "message": MessageOptions(self.message_bias, _ACTS[self.message_act]),
            "drop_rates": DropRates(self.weight_dropout, self.message_dropout),
            "inits": Inits(self.weight_init, self.modulator_init, self.bias_init),
        }

    def localization_options(self, localizes_bias: bool) -> LocalizationOptions:
        """The details of a localization; those of the bias belong to the model."""
        return LocalizationOptions(
            self.context, localizes_bias, self.edge_scale_target, self.generator_row_sum
        )

    def stack(self, convs: Sequence[BaseConv], sizes: tuple[int, int], heads: int) -> Classifier:
        """The model around its layers.

        Args:
            convs: The layers; none for a model without a graph.
            sizes: The numbers of features and of classes.
            heads: Heads of the hidden layers.
        """
        width = heads * self.hidden_channels
        widths = [width] * self.num_layers if self.linear_ends else [width] * (self.num_layers - 1)
        return Classifier(
            convs,
            dropout=self.input_dropout,
            act=_ACTS[self.act] or identity,
            output_act=_ACTS[self.output_act],
            residual=self.residual,
            norms=[norm for norm in map(self._norm, widths) if norm is not None],
            feature_dropout=None if self.feature_dropout < 0 else self.feature_dropout,
            roots=self._roots(sizes, width, bias=not convs) if self.root else (),
            ends=self._ends(sizes, width) if self.linear_ends else None,
        )

    def layer_sizes(self, sizes: tuple[int, int], heads: int) -> LayerSizes:
        """Input width, width of a head and heads, layer by layer.

        Args:
            sizes: The numbers of features and of classes.
            heads: Heads of the hidden layers.
        """
        if self.linear_ends:
            return [(heads * self.hidden_channels, self.hidden_channels, heads)] * self.num_layers
        return layer_sizes(sizes[0], self.hidden_channels, sizes[1], self.num_layers, heads)

    def _norm(self, width: int) -> Module | None:
        if self.batch_norm:
            return BatchNorm1d(width)
        return RowNorm(width) if self.layer_norm else None

    def _roots(self, sizes: tuple[int, int], width: int, bias: bool) -> list[Dense]:
        widths = [width] * (self.num_layers + 1)
        if not self.linear_ends:
            widths[0], widths[-1] = sizes
        return [Dense(*pair, bias=bias) for pair in pairwise(widths)]

    def _ends(self, sizes: tuple[int, int], width: int) -> LinearEnds:
        return LinearEnds(sizes[0], width, sizes[1], self.hops, self.node_dropout)
