"""The settings of a model beyond its name and sizes: the model's part of a recipe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from torch import Tensor
from torch.nn.functional import elu, leaky_relu, relu

from nodewise.models.classifier import Act
from nodewise.nn.block import BlockRule
from nodewise.nn.options import DropRates, Inits, LocalizationOptions, MessageOptions

Normalization = Literal["default", "none", "symmetric", "mean", "count"]
ActName = Literal["none", "elu", "relu", "leaky_relu"]
InitName = Literal["glorot", "truncated_he", "small_uniform", "zeros"]


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
        bias: Whether a bias is added after aggregation.
        message_bias: Whether a bias is added to every message.
        attention_bias: Whether the two attention scores have a bias each.
        attention_scores: The input of attention: "global", W h of both ends, or "messages".
        edge_scale_target: The value from which the penalty measures edge scales: "one" or
            "attention".
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
    bias: bool = False
    message_bias: bool = False
    attention_bias: bool = False
    attention_scores: Literal["global", "messages"] = "global"
    edge_scale_target: Literal["one", "attention"] = "one"
    weight_init: InitName = "glorot"
    modulator_init: InitName = "truncated_he"
    attention_init: InitName = "glorot"
    bias_init: InitName = "zeros"

    def rule(self, default: BlockRule) -> BlockRule:
        """What C_v is: the backbone's rule, with the settings of this architecture."""
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
        return LocalizationOptions(self.context, localizes_bias, self.edge_scale_target)

    def stack_options(self) -> dict[str, Any]:
        """Arguments of the `Classifier` around the layers."""
        return {
            "dropout": self.input_dropout,
            "act": _ACTS[self.act],
            "output_act": _ACTS[self.output_act],
            "residual": self.residual,
            "layer_norm": self.layer_norm,
        }
