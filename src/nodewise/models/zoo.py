"""All models by name: one line per row of the paper's table, and further comparisons.

`GCN-tuned` is a GCN with the settings that validation nodes chose on each data set, where a recipe
knows them. `LGCN:global` is LGCN with both levels switched off and everything else the same: the
matched global model; `LGCN:node` and `LGCN:edge` keep one level. What others would use instead is
here, too: models of scikit-learn, and models of PyG as its users write them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from torch.nn import Module

from nodewise.errors import InputError, UnknownNameError
from nodewise.models.architecture import Architecture
from nodewise.models.baselines.boosting import Boosting, NeighborBoosting
from nodewise.models.baselines.deepwalk import DeepWalk
from nodewise.models.baselines.planetoid import EitherPlanetoid
from nodewise.models.baselines.pyg import PygGAT, PygGCN, PygSAGE
from nodewise.models.baselines.regression import Logistic
from nodewise.models.baselines.scikit import Majority, ScikitModel
from nodewise.models.classifier import Classifier, LayerSizes, film_convs, localized_convs
from nodewise.nn.aggregators import Aggregator, AggregatorFactory, Gat, WeightedSum
from nodewise.nn.aggregators.sums import GCN_RULE
from nodewise.nn.base_conv import BaseConv
from nodewise.nn.block import BlockRule


def gcn(arch: Architecture) -> AggregatorFactory:
    """GCN's sum under the symmetric normalization."""
    return lambda out, heads: WeightedSum(arch.rule(GCN_RULE))


def gin(arch: Architecture) -> AggregatorFactory:
    """GIN's sum of neighbors and self; its one-layer MLP is W and the bias of the layer."""
    return lambda out, heads: WeightedSum(arch.rule(BlockRule("extra")))


def gat(arch: Architecture) -> AggregatorFactory:
    """GAT's attention."""

    def make(out: int, heads: int) -> Aggregator:
        return Gat(
            out,
            heads,
            scores=arch.attention_scores,
            dropout=arch.attention_dropout,
            bias=arch.attention_bias,
            init=arch.attention_init,
            rule=arch.rule(BlockRule()),
        )

    return make


def mean(arch: Architecture) -> AggregatorFactory:
    """SAGE's mean over the neighbors; the node itself has a separate weight (`root`)."""
    return lambda out, heads: WeightedSum(arch.rule(BlockRule("none", "count")))


def localized(
    row: Row, arch: Architecture, sizes: LayerSizes, aggregator: AggregatorFactory
) -> Sequence[BaseConv]:
    """The paper's layers, with the row's levels switched on."""
    return localized_convs(
        sizes,
        arch.bottleneck,
        node_level=row.node_level,
        edge_level=row.edge_level,
        localization=arch.localization_options(row.localizes_bias and row.node_level),
        aggregator=aggregator,
        **arch.conv_options(),
    )


def film(
    row: Row, arch: Architecture, sizes: LayerSizes, aggregator: AggregatorFactory
) -> Sequence[BaseConv]:
    """GNN-FiLM's layers."""
    return film_convs(sizes, aggregator=aggregator, **arch.conv_options())


def no_convs(
    row: Row, arch: Architecture, sizes: LayerSizes, aggregator: AggregatorFactory
) -> Sequence[BaseConv]:
    """No layer that uses the graph."""
    return ()


@dataclass(frozen=True)
class Sizes:
    """The sizes of a graph: features, classes, and nodes where they are known."""

    in_channels: int
    out_channels: int
    num_nodes: int | None = None


@dataclass(frozen=True)
class Row:
    """A model of the zoo, a stack of layers.

    Attributes:
        family: The name under which recipes keep this model's settings.
        backbone: Its aggregator, from an architecture.
        node_level: Whether weights are localized at nodes.
        edge_level: Whether messages are localized on edges.
        has_heads: Whether its layers have several heads.
        localizes_bias: Whether the node level scales and shifts the bias too.
        counts_bias: Whether the paper's parameter count includes the layers' biases.
        convs: Its layers, from the row, an architecture, their sizes, heads and aggregator.
        twin: The family of its localized form; empty where there is none.
        defaults: Settings of this backbone that differ from the paper's; a recipe may change them.
        settings: What distinguishes this row, such as its width; a recipe cannot change it.
    """

    family: str
    backbone: Callable[[Architecture], AggregatorFactory]
    node_level: bool = False
    edge_level: bool = False
    has_heads: bool = False
    localizes_bias: bool = False
    counts_bias: bool = False
    convs: Callable[..., Sequence[BaseConv]] = localized
    twin: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_localized(self) -> bool:
        """Whether any level is switched on."""
        return self.node_level or self.edge_level

    @property
    def uses_graph(self) -> bool:
        """Whether its layers use edges."""
        return self.convs is not no_convs

    @property
    def is_trained_at_once(self) -> bool:
        """Always false: it is trained in epochs."""
        return False

    def build(self, sizes: Sizes, arch: Architecture) -> Classifier:
        """The model."""
        widths = (sizes.in_channels, sizes.out_channels)
        heads = arch.heads if self.has_heads else 1
        convs = self.convs(self, arch, arch.layer_sizes(widths, heads), self.backbone(arch))
        return arch.stack(convs, widths, heads)

    def paper_count(self, model: Module) -> int:
        """The parameters as the paper counts them: weights, and biases only of GIN's MLP."""
        return sum(
            weight.numel()
            for name, weight in model.named_parameters()
            if self.counts_bias or "bias" not in name.rsplit(".", 1)[-1]
        )


@dataclass(frozen=True)
class OneGraphRow:
    """A model that is fitted to the nodes of one graph, without levels.

    Attributes:
        family: The name under which recipes keep this model's settings.
        make: The model, from the numbers of features, classes and nodes.
        uses_graph: Whether it uses edges.
    """

    family: str
    make: Callable[[int, int, int], DeepWalk | EitherPlanetoid | ScikitModel]
    uses_graph: bool = True
    defaults: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    twin: str = field(default="", init=False)
    is_localized: bool = field(default=False, init=False)
    is_trained_at_once: bool = field(default=True, init=False)

    def build(self, sizes: Sizes, arch: Architecture) -> Module:
        """The model."""
        if sizes.in_channels == -1:
            raise InputError(
                "in_channels",
                f"{self.family} has no layer that could take it from the first input",
                value=-1,
                way_out="give the number of features",
            )
        if sizes.num_nodes is None:
            raise InputError(
                "num_nodes",
                f"{self.family} has a vector for every node of its graph",
                way_out="give the number of nodes",
            )
        return self.make(sizes.in_channels, sizes.out_channels, sizes.num_nodes)

    def paper_count(self, model: Module) -> int:
        """The parameters as the paper counts them."""
        return cast(DeepWalk | EitherPlanetoid | ScikitModel, model).paper_parameter_count


@dataclass(frozen=True)
class PlainRow:
    """A model of x and edges, as a user of PyG writes it, without levels.

    Attributes:
        family: The name under which recipes keep this model's settings.
        make: The model, from the numbers of features and classes, and an architecture.
        settings: What distinguishes this row, such as its width; a recipe cannot change it.
    """

    family: str
    make: Callable[[int, int, Architecture], Module]
    settings: Mapping[str, Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    twin: str = field(default="", init=False)
    is_localized: bool = field(default=False, init=False)
    is_trained_at_once: bool = field(default=False, init=False)
    uses_graph: bool = field(default=True, init=False)

    def build(self, sizes: Sizes, arch: Architecture) -> Module:
        """The model."""
        return self.make(sizes.in_channels, sizes.out_channels, arch)

    def paper_count(self, model: Module) -> int:
        """The weights, without biases."""
        named = model.named_parameters()
        return sum(weight.numel() for name, weight in named if "bias" not in name)


def _pyg_gcn(features: int, classes: int, arch: Architecture) -> Module:
    return PygGCN(features, classes, arch.hidden_channels, arch.input_dropout)


def _pyg_sage(features: int, classes: int, arch: Architecture) -> Module:
    return PygSAGE(features, classes, arch.hidden_channels, arch.input_dropout)


def _pyg_gat(features: int, classes: int, arch: Architecture) -> Module:
    return PygGAT(features, classes, arch.hidden_channels, arch.input_dropout, arch.heads)


def _widths(family: str, backbone: Any, **row: Any) -> dict[str, Row]:
    """A baseline of hidden width 8 (or what the recipe says), and its two wider forms."""
    rows = {family: Row(family, backbone, **row)}
    for width in (64, 96):
        settings = {"hidden_channels": width}
        rows[f"{family}-{width}"] = Row(family, backbone, settings=settings, **row)
    return rows


def _levels(family: str, backbone: Any, **row: Any) -> dict[str, Row]:
    """A localized model, its matched global model, and each level alone."""
    levels = {"": (True, True), ":global": (False, False), ":node": (True, False)}
    levels[":edge"] = (False, True)
    return {f"{family}{tag}": Row(family, backbone, *on, **row) for tag, on in levels.items()}


# A stack that can be deep: one width, a separate weight for the node itself, residuals and norms.
STRONG: Final[Mapping[str, Any]] = {
    "linear_ends": True,
    "root": True,
    "residual": True,
    "layer_norm": True,
    "hidden_channels": 64,
    "bottleneck": 8,
    "act": "relu",
    "bias": True,
    "input_dropout": 0.5,
    "modulator_init": "zeros",
}

STRONG_HEADS: Final[Mapping[str, Any]] = {**STRONG, "hidden_channels": 8}


def _strong(family: str, twin: str, backbone: Any, **row: Any) -> dict[str, Row]:
    """A strong model, and its localized twin with each of its levels."""
    row = {"defaults": STRONG, **row}
    return {family: Row(family, backbone, twin=twin, **row), **_levels(twin, backbone, **row)}


_PYG: Final = {"hidden_channels": 64, "input_dropout": 0.5}
_PYG_GAT: Final = {"hidden_channels": 8, "heads": 8, "input_dropout": 0.6}

AnyRow = Row | OneGraphRow | PlainRow

ZOO: Final[dict[str, AnyRow]] = {
    "DeepWalk": OneGraphRow("DeepWalk", DeepWalk),
    "Planetoid": OneGraphRow("Planetoid", EitherPlanetoid),
    **_widths("GCN", gcn, twin="LGCN"),
    "GCN-tuned": Row("GCN-tuned", gcn),
    "GCN-FiLM": Row("GCN-FiLM", gcn, convs=film),
    **_levels("LGCN", gcn),
    **_widths("GAT", gat, has_heads=True, twin="LGAT"),
    "GAT-FiLM": Row("GAT-FiLM", gat, convs=film, has_heads=True),
    **_levels("LGAT", gat, has_heads=True),
    **_widths("GIN", gin, defaults={"bias": True}, counts_bias=True, twin="LGIN"),
    "GIN-FiLM": Row("GIN-FiLM", gin, convs=film, defaults={"bias": True}, counts_bias=True),
    **_levels("LGIN", gin, localizes_bias=True, defaults={"bias": True}),
    "MLP": Row("MLP", mean, convs=no_convs, defaults=STRONG),
    **_strong("SAGE", "LSAGE", mean),
    **_strong("GCN-strong", "LGCN-strong", gcn),
    **_strong("GIN-strong", "LGIN-strong", gin),
    **_strong("GAT-strong", "LGAT-strong", gat, has_heads=True, defaults=STRONG_HEADS),
    "Majority": OneGraphRow("scikit-learn", Majority, uses_graph=False),
    "Logistic": OneGraphRow("scikit-learn", Logistic, uses_graph=False),
    "Boosting": OneGraphRow("scikit-learn", Boosting, uses_graph=False),
    "Boosting-neighbors": OneGraphRow("scikit-learn", NeighborBoosting),
    "PyG-GCN-64": PlainRow("PyG-GCN", _pyg_gcn, settings=_PYG),
    "PyG-SAGE-64": PlainRow("PyG-SAGE", _pyg_sage, settings=_PYG),
    "PyG-GAT-8x8": PlainRow("PyG-GAT", _pyg_gat, settings=_PYG_GAT),
}


def find_row(name: str) -> AnyRow:
    """The row of that name.

    Raises:
        UnknownNameError: There is none; the error names the nearest.
    """
    if name not in ZOO:
        raise UnknownNameError("model", name, ZOO)
    return ZOO[name]


def localized_forms(name: str) -> dict[str, str]:
    """The localized forms of a global model, by what they localize; none where the zoo has none."""
    twin = find_row(name).twin
    forms = {"nodes": f"{twin}:node", "edges": f"{twin}:edge", "nodes and edges": twin}
    return forms if twin else {}


def build_model(
    name: str, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any
) -> Module:
    """Build a model of the zoo by its name.

    Args:
        name: "LGCN", "GAT-64", "LGIN:global", ...; `nodewise models` lists them.
        in_channels: Size of the input features, or -1 for that of the first input.
        out_channels: How many classes.
        num_nodes: How many nodes, for models that have vectors for the nodes of one graph.
        **settings: Fields of `Architecture`; by default those of the paper.
    """
    row = find_row(name)
    arch = Architecture(**{**row.defaults, **row.settings, **settings})
    return row.build(Sizes(in_channels, out_channels, num_nodes), arch)


def paper_count(name: str, model: Module) -> int:
    """The parameters of a model of that name, counted as in the paper's table."""
    return find_row(name).paper_count(model)
