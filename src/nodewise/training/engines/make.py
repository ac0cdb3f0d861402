"""Which engine trains a model."""

from __future__ import annotations

from functools import partial, singledispatch

from torch.nn import Module

from nodewise.errors import InputError
from nodewise.models.baselines.deepwalk import DeepWalk
from nodewise.models.baselines.planetoid import EitherPlanetoid
from nodewise.models.baselines.scikit import ScikitModel
from nodewise.models.classifier import Classifier
from nodewise.training.engines.base import Engine, TrainingGraph
from nodewise.training.engines.batch_graph import MemoryGraph
from nodewise.training.engines.choice import EngineChoice, choose_engine
from nodewise.training.engines.class_weights import weighs_classes
from nodewise.training.engines.field import FieldEngine
from nodewise.training.engines.full_graph import FullGraphEngine
from nodewise.training.engines.minibatch import MinibatchEngine
from nodewise.training.engines.once import (
    Learn,
    OnceEngine,
    learn_deepwalk,
    learn_planetoid,
    learn_scikit,
)
from nodewise.training.engines.resources import Resources
from nodewise.training.recipe import Recipe


@singledispatch
def make_engine(
    model: Module,
    graph: TrainingGraph,
    recipe: Recipe,
    resources: Resources = Resources(),  # noqa: B008  # immutable
) -> Engine:
    """The engine for a kind of model; for the user's models the full graph.

    Args:
        model: The model.
        graph: The graph.
        recipe: The recipe.
        resources: With what it computes.

    Raises:
        InputError: The recipe names an engine that cannot train this model.
    """
    _choose(model, graph, recipe, resources)
    return FullGraphEngine(model, graph, recipe)


@make_engine.register
def _(
    model: Classifier,
    graph: TrainingGraph,
    recipe: Recipe,
    resources: Resources = Resources(),  # noqa: B008
) -> Engine:
    engine = _choose(model, graph, recipe, resources).engine
    if engine == "minibatch":
        return MinibatchEngine(model, MemoryGraph(graph), recipe, resources)
    return FieldEngine(model, graph, recipe, on_full_graph=engine == "full")


@make_engine.register
def _(
    model: DeepWalk,
    graph: TrainingGraph,
    recipe: Recipe,
    resources: Resources = Resources(),  # noqa: B008
) -> Engine:
    return _once(model, graph, recipe, resources, learn_deepwalk)


@make_engine.register
def _(
    model: EitherPlanetoid,
    graph: TrainingGraph,
    recipe: Recipe,
    resources: Resources = Resources(),  # noqa: B008
) -> Engine:
    return _once(model, graph, recipe, resources, learn_planetoid)


@make_engine.register
def _(
    model: ScikitModel,
    graph: TrainingGraph,
    recipe: Recipe,
    resources: Resources = Resources(),  # noqa: B008
) -> Engine:
    _choose(model, graph, recipe, resources)
    learn = partial(learn_scikit, recipe=recipe, seconds=resources.seconds)
    return OnceEngine(model, graph, learn)


def _choose(
    model: Module, graph: TrainingGraph, recipe: Recipe, resources: Resources
) -> EngineChoice:
    sizes = graph.y.numel(), graph.edge_index.size(1)
    return choose_engine(model, sizes, recipe.batching, resources)


def _once(
    model: Module, graph: TrainingGraph, recipe: Recipe, resources: Resources, learn: Learn
) -> OnceEngine:
    _choose(model, graph, recipe, resources)
    if weighs_classes(recipe):
        raise InputError(
            "class_weight",
            "is not used by this model",
            value=recipe.optimization.class_weight,
            way_out="leave it out, or choose a model such as LGCN or GCN",
        )
    return OnceEngine(model, graph, learn)
