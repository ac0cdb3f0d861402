"""Which engine trains a model."""

from __future__ import annotations

from functools import partial, singledispatch
from math import inf

from torch.nn import Module

from nodewise.errors import InputError
from nodewise.models.baselines.deepwalk import DeepWalk
from nodewise.models.baselines.planetoid import EitherPlanetoid
from nodewise.models.baselines.scikit import ScikitModel
from nodewise.models.classifier import Classifier
from nodewise.training.engines.base import Engine, TrainingGraph
from nodewise.training.engines.class_weights import weighs_classes
from nodewise.training.engines.field import FieldEngine
from nodewise.training.engines.full_graph import FullGraphEngine
from nodewise.training.engines.once import (
    Learn,
    OnceEngine,
    learn_deepwalk,
    learn_planetoid,
    learn_scikit,
)
from nodewise.training.recipe import Recipe


@singledispatch
def make_engine(
    model: Module, graph: TrainingGraph, recipe: Recipe, seconds: float = inf
) -> Engine:
    """The engine for a kind of model; for the user's models the full graph.

    Args:
        model: The model.
        graph: The graph.
        recipe: The recipe.
        seconds: How long a model of scikit-learn may take; others can be stopped after any epoch.
    """
    return FullGraphEngine(model, graph, recipe)


@make_engine.register
def _(model: Classifier, graph: TrainingGraph, recipe: Recipe, seconds: float = inf) -> Engine:
    return FieldEngine(model, graph, recipe)


@make_engine.register
def _(model: DeepWalk, graph: TrainingGraph, recipe: Recipe, seconds: float = inf) -> Engine:
    return _once(model, graph, recipe, learn_deepwalk)


@make_engine.register
def _(model: EitherPlanetoid, graph: TrainingGraph, recipe: Recipe, seconds: float = inf) -> Engine:
    return _once(model, graph, recipe, learn_planetoid)


@make_engine.register
def _(model: ScikitModel, graph: TrainingGraph, recipe: Recipe, seconds: float = inf) -> Engine:
    return OnceEngine(model, graph, partial(learn_scikit, recipe=recipe, seconds=seconds))


def _once(model: Module, graph: TrainingGraph, recipe: Recipe, learn: Learn) -> OnceEngine:
    if weighs_classes(recipe):
        raise InputError(
            "class_weight",
            "is not used by this model",
            value=recipe.optimization.class_weight,
            way_out="leave it out, or choose a model such as LGCN or GCN",
        )
    return OnceEngine(model, graph, learn)
