"""Tasks: a model, a recipe and a graph; with a seed they define a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

from torch.nn import Module

from nodewise._version import __version__
from nodewise.data.fingerprints import graph_sha256, names_sha256
from nodewise.data.splits.split import Split
from nodewise.models.zoo import build_model
from nodewise.randomness import seeded_randomness
from nodewise.runs.whole_graph import WholeGraph
from nodewise.training.early_stopping import StoppingRule
from nodewise.training.engines.base import Engine, TrainingGraph
from nodewise.training.engines.choice import EngineChoice, choose_engine
from nodewise.training.engines.make import make_engine
from nodewise.training.engines.model_inputs import check_weights
from nodewise.training.engines.resources import Resources
from nodewise.training.inputs import prepare
from nodewise.training.recipe import Recipe

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from nodewise.data.tables.preprocessing import Preprocessing

# Increased by a change that alters results by more than rounding or another draw from the same
# distribution, so that records from before and after it are not mixed. A test fails otherwise.
RESULTS_VERSION = 1

# Builds the user's model from the numbers of features and classes.
Factory = Callable[[int, int], Module]


@dataclass(frozen=True)
class Refit:
    """How a chosen model is trained once more, on training and validation nodes together.

    Attributes:
        epochs: How many epochs; no nodes are left on which one could be chosen.
        scores: The scores on validation nodes from before, by their names in a record.
        temperature: The temperature from before, if the recipe asks for one.
    """

    epochs: int
    scores: Mapping[str, float]
    temperature: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields that are set, as `config.toml` has them."""
        return {key: value for key, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Task:
    """A model, a recipe and a graph; with a seed they define a run.

    Attributes:
        data: The graph, with `x`, `edge_index` and `y`.
        split: The training, validation and test nodes.
        source: Where graph and split come from, for the record: `dataset` and more.
        model: A name of the zoo, or a name for the user's model.
        recipe: The settings of model and training.
        build: Builds the user's model from the numbers of features and classes; its `forward` takes
            (x, edge_index).
        ids: The nodes' names; None uses their numbers.
        preprocessing: The encoding with which later tables get the same features, if the graph was
            read from tables.
        known_sha256: The graph's fingerprint, if it was computed before.
        refit: Set where the model learns from validation nodes too.
        resources: The processes, threads and time of training; they do not change results.
    """

    data: Data
    split: Split
    source: Mapping[str, Any]
    model: str
    recipe: Recipe
    build: Factory | None = field(default=None, repr=False)
    ids: Sequence[Any] | None = field(default=None, repr=False)
    preprocessing: Preprocessing | None = field(default=None, repr=False)
    known_sha256: str | None = field(default=None, repr=False)
    refit: Refit | None = None
    resources: Resources = field(default_factory=Resources, repr=False, compare=False)

    @cached_property
    def graph_sha256(self) -> str:
        """The graph's fingerprint."""
        return self.known_sha256 or graph_sha256(self.data)

    @cached_property
    def graph(self) -> TrainingGraph:
        """The graph as an engine takes it, features prepared."""
        x = prepare(self.data.x, self.recipe.optimization.features)
        split = self.split if self.refit is None else self.split.with_validation_learned()
        weight = self.data.get("edge_weight")
        return TrainingGraph(x, self.data.edge_index, self.data.y, split, weight)

    @property
    def rule(self) -> StoppingRule:
        """The recipe's stopping rule; one without validation where there are no nodes for it."""
        rule = self.recipe.stopping
        if self.refit is None:
            return rule
        return replace(rule, epochs=self.refit.epochs, start_record_epoch=self.refit.epochs)

    @cached_property
    def class_names(self) -> list[str]:
        """The names of the classes, or their numbers where the graph has no names."""
        names = self.data.get("class_names")
        return list(names) if names else [str(k) for k in range(int(self.data.y.max()) + 1)]

    def config(self, seed: int) -> dict[str, Any]:
        """Everything that identifies a run, as `config.toml` has it."""
        return {
            "nodewise": __version__,
            "results_version": RESULTS_VERSION,
            "model": self.model,
            "recipe": self.recipe.name,
            "seed": seed,
            "split_sha256": self.split.sha256(),
            "graph": {
                **self.source,
                "sha256": self.graph_sha256,
                "nodes": int(self.data.x.size(0)),
                "features": int(self.data.x.size(1)),
                "feature_names_sha256": names_sha256(self.data.get("feature_names")),
                "classes": self.class_names,
                **({"weighted": True} if self.graph.edge_weight is not None else {}),
            },
            "settings": self.recipe.settings,
            **({} if self.refit is None else {"refit": self.refit.to_dict()}),
        }

    def fresh_model(self) -> Module:
        """An untrained model, initialized from torch's random state.

        Raises:
            InputError: The model would ignore the graph's edge weights.
        """
        nodes, features = self.data.x.shape
        sizes = (int(features), len(self.class_names), int(nodes))
        model = new_model(self.model, sizes, self.recipe, self.build)
        check_weights(model, self.graph.edge_weight)
        return model.to(self.data.y.device)

    def in_memory(self, most: int) -> Task:
        """The task with features that can be read at once; see `StoredTask`."""
        return self

    @property
    def whole_graph(self) -> WholeGraph:
        """The graph as predictions take it."""
        ids = range(self.data.y.numel()) if self.ids is None else self.ids
        return WholeGraph(self.data, *self._sizes, ids)

    @property
    def engine_choice(self) -> EngineChoice:
        """The engine that trains it, and why.

        Raises:
            InputError: The engine that the recipe names cannot train this model.
        """
        with seeded_randomness(0):
            model = self.fresh_model()
        return choose_engine(model, self._sizes, self.recipe.batching, self.resources)

    @property
    def _sizes(self) -> tuple[int, int]:
        """The numbers of nodes and of edges."""
        return int(self.data.x.size(0)), int(self.data.edge_index.size(1))

    def engine(self, seconds: float = inf) -> Engine:
        """An engine with an untrained model; `seconds` are those of its `Resources`."""
        resources = replace(self.resources, seconds=seconds)
        return make_engine(self.fresh_model(), self.graph, self.recipe, resources)


def new_model(
    name: str, sizes: tuple[int, int, int], recipe: Recipe, build: Factory | None = None
) -> Module:
    """An untrained model: one of the zoo, as the recipe shapes it, or the user's.

    Args:
        name: The model's name.
        sizes: The numbers of features, classes and nodes.
        recipe: The recipe, for a model of the zoo.
        build: Builds the user's model from the numbers of features and classes.
    """
    if build is not None:
        return build(*sizes[:2])
    return build_model(name, *sizes, **vars(recipe.architecture))
