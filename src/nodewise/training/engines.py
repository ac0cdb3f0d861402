"""Engines: how a model is trained for an epoch and validated. The loop calls them.

An engine computes on the full graph or on the receptive fields of its nodes; others may use
mini-batches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial, singledispatch
from math import inf
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import Module
from torch.nn.functional import cross_entropy

from nodewise.data.splits.drawn import hold_out
from nodewise.data.splits.split import Split
from nodewise.errors import InputError
from nodewise.models.baselines.deepwalk import DeepWalk
from nodewise.models.baselines.logistic import fit_logistic
from nodewise.models.baselines.planetoid import EitherPlanetoid
from nodewise.models.baselines.planetoid_fit import fit_better_planetoid
from nodewise.models.baselines.scikit import FitSpec, GraphArrays, ScikitModel
from nodewise.models.classifier import Classifier
from nodewise.nn.modulation import Modulations
from nodewise.ops.dispatch import compile_ahead
from nodewise.ops.sparse import Features, SparseRows
from nodewise.training.metrics import Probabilities, validation_score
from nodewise.training.recipe import Recipe


class Loss(NamedTuple):
    """Eq. 11 term by term, so that an error can name the term that diverged."""

    cross_entropy: Tensor
    global_weights: Tensor
    local_weights: Tensor
    modulations: Tensor
    consistency: Tensor

    @property
    def total(self) -> Tensor:
        """The sum of all terms."""
        weights = self.global_weights + self.local_weights + self.modulations
        return self.cross_entropy + weights + self.consistency

    def values(self) -> dict[str, float]:
        """The terms as numbers."""
        return {name: float(term) for name, term in self._asdict().items()}


class Validation(NamedTuple):
    """What an engine finds on the validation nodes, without dropout.

    Attributes:
        loss: The loss.
        accuracy: The accuracy.
        logits: Their logits, shape (n, classes).
        y: Their labels, shape (n,).
    """

    loss: Loss
    accuracy: float
    logits: Tensor
    y: Tensor

    @classmethod
    def of(cls, loss: Loss, logits: Tensor, y: Tensor) -> Validation:
        """With the accuracy of these logits."""
        return cls(loss, float((logits.argmax(1) == y).double().mean()), logits, y)


class TrainingGraph(NamedTuple):
    """The graph that an engine trains on.

    Attributes:
        x: Features, prepared.
        edge_index: The edges, shape (2, E).
        y: Labels, -1 where there is none, shape (N,).
        split: The training, validation and test nodes.
        edge_weight: A weight for each edge, shape (E,), or None.
    """

    x: Features
    edge_index: Tensor
    y: Tensor
    split: Split
    edge_weight: Tensor | None = None

    @property
    def inputs(self) -> tuple[Features | Tensor, ...]:
        """The arguments of a model; weights only if there are any, since many models take none."""
        args = (self.x, self.edge_index)
        return args if self.edge_weight is None else (*args, self.edge_weight)


def disagreement(passes: Sequence[Tensor], temperature: float) -> Tensor:
    """The mean squared distance of several predictions from their mean, sharpened.

    Args:
        passes: Logits (N, classes) of each pass.
        temperature: T; the mean p becomes p^(1/T), normalized. Below one it is sharpened.
    """
    probabilities = torch.stack([logits.softmax(1) for logits in passes])
    with torch.no_grad():
        goal = probabilities.mean(0).pow(1 / temperature)
        goal = goal / goal.sum(1, keepdim=True)
    return (probabilities - goal).square().sum(2).mean()


class Engine(ABC):
    """Trains a model on a graph.

    Attributes:
        model: The model.
    """

    model: Module

    @abstractmethod
    def step(self) -> Loss:
        """Train for an epoch; returns the loss before the step, with dropout."""

    @abstractmethod
    def validate(self) -> Validation:
        """Loss, accuracy and logits on the validation nodes, without dropout."""

    @abstractmethod
    def logits(self) -> Tensor:
        """Logits of all nodes, without dropout."""

    @abstractmethod
    def state(self) -> dict[str, Tensor]:
        """The state of training besides the model's weights."""

    @abstractmethod
    def load_state(self, state: dict[str, Tensor]) -> None:
        """Restore the state that `state` returned."""


class GradientEngine(Engine):
    """An engine whose epoch is one step of a gradient optimizer over all training nodes.

    Args:
        model: The model.
        graph: The graph.
        recipe: The recipe.
    """

    def __init__(self, model: Module, graph: TrainingGraph, recipe: Recipe) -> None:
        self.model, self.graph, self.recipe = model, graph, recipe
        self.optimizer = torch.optim.Adam(
            model.parameters(), lr=recipe.optimization.learning_rate, fused=True
        )

    @abstractmethod
    def outputs(self, part: str) -> tuple[Tensor, Tensor, Modulations]:
        """Logits of the nodes of "train" or "val", their labels, and the modulations."""

    def penalized(self) -> tuple[list[Tensor], list[Tensor]]:
        """Theta_G and Theta_L."""
        return list(self.model.parameters()), []

    def _loss(self, part: str) -> tuple[Loss, Tensor, Tensor]:
        logits, y, modulations = self.outputs(part)
        terms = self.recipe.penalty(*self.penalized(), modulations)
        fit = self._fit(logits, y, part)
        return Loss(fit, *terms, fit.new_zeros(())), logits, y

    def _fit(self, logits: Tensor, y: Tensor, part: str) -> Tensor:
        """The cross-entropy; on training nodes with weights of classes, if the recipe says so."""
        weighted = part == "train" and _weighs_classes(self.recipe)
        weights = class_weights(y, logits.size(1)) if weighted else None
        reduction = self.recipe.optimization.loss_reduction
        return cross_entropy(logits, y, weights, reduction=reduction)

    def _consistent_loss(self) -> Loss:
        """The loss of training nodes, and how far predictions under other dropout masks differ.

        Several passes over all nodes; each is drawn to the mean prediction, sharpened (GRAND).
        """
        how = self.recipe.optimization
        nodes = torch.from_numpy(self.graph.split.train.copy()).to(self.graph.y.device)
        passes = [
            self.model(*self.graph.inputs, return_modulations=True) for _ in range(how.samples)
        ]
        terms = [self.recipe.penalty(*self.penalized(), found) for _, found in passes]
        fits = [self._fit(logits[nodes], self.graph.y[nodes], "train") for logits, _ in passes]
        apart = disagreement([logits for logits, _ in passes], how.temperature)
        weights, local, modulations = (torch.stack(p).mean() for p in zip(*terms, strict=True))
        fit = torch.stack(fits).mean()
        return Loss(fit, weights, local, modulations, how.consistency * apart)

    def step(self) -> Loss:
        """One step over all training nodes."""
        self.model.train()
        self.optimizer.zero_grad()
        consistent = self.recipe.optimization.consistency > 0
        loss = self._consistent_loss() if consistent else self._loss("train")[0]
        loss.total.backward()  # type: ignore[no-untyped-call]  # torch leaves it unannotated
        self.optimizer.step()
        return Loss(*(term.detach() for term in loss))

    @torch.no_grad()
    def validate(self) -> Validation:
        """Loss, accuracy and logits on the validation nodes."""
        self.model.eval()
        return Validation.of(*self._loss("val"))

    @torch.no_grad()
    def logits(self) -> Tensor:
        """Logits of all nodes."""
        self.model.eval()
        logits: Tensor = self.model(*self.graph.inputs)
        return logits

    def state(self) -> dict[str, Tensor]:
        """The optimizer's moments and step counts."""
        state = self.optimizer.state_dict()["state"]
        return {
            f"{i}.{name}": value for i, moments in state.items() for name, value in moments.items()
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Restore the state of the optimizer."""
        moments: dict[int, dict[str, Tensor]] = {}
        for key, value in state.items():
            number, name = key.split(".", 1)
            moments.setdefault(int(number), {})[name] = value
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": moments, "param_groups": groups})


class FieldEngine(GradientEngine):
    """Computes only what the loss needs: the receptive fields of training and validation nodes."""

    model: Classifier

    def __init__(self, model: Classifier, graph: TrainingGraph, recipe: Recipe) -> None:
        super().__init__(model, graph, recipe)
        # Collected once: a walk through all modules takes as long as a small kernel.
        self._penalized: tuple[list[Tensor], list[Tensor]] = (
            [*model.global_parameters()],
            [*model.local_parameters()],
        )
        if self._penalized[1]:
            compile_ahead(self._penalized[1][0])
        self._parts = {}
        for part, numbers in graph.split:
            nodes = torch.from_numpy(numbers.copy()).to(graph.y.device)
            if part != "test":
                self._parts[part] = (*self._inputs(nodes), graph.y[nodes])

    def _inputs(self, nodes: Tensor) -> tuple[tuple[Any, ...], Tensor | slice]:
        """What the model takes for some nodes, and the rows of its output that are theirs."""
        if self.model.needs_all_nodes:
            return self.graph.inputs, nodes
        graph = self.graph
        field = self.model.receptive_field(graph.edge_index, len(graph.y), nodes, graph.edge_weight)
        return (field.take(self.graph.x), field), slice(None)

    def outputs(self, part: str) -> tuple[Tensor, Tensor, Modulations]:
        """The outputs, computed on the receptive field of these nodes."""
        inputs, rows, y = self._parts[part]
        logits, modulations = self.model(*inputs, return_modulations=True)
        return logits[rows], y, modulations

    def penalized(self) -> tuple[list[Tensor], list[Tensor]]:
        """The model's global and local parameters."""
        return self._penalized


class FullGraphEngine(GradientEngine):
    """Any model with `forward(x, edge_index)`, on the full graph and dense features.

    All its parameters are Theta_G, penalized by `lambda_global`.
    """

    def __init__(self, model: Module, graph: TrainingGraph, recipe: Recipe) -> None:
        super().__init__(model, graph._replace(x=as_input(model, graph.x)), recipe)
        self._parts = {}
        for part, numbers in graph.split:
            nodes = torch.from_numpy(numbers.copy()).to(graph.y.device)
            self._parts[part] = (nodes, graph.y[nodes])

    def outputs(self, part: str) -> tuple[Tensor, Tensor, Modulations]:
        """The outputs, computed on the full graph."""
        nodes, y = self._parts[part]
        return self.model(self.graph.x, self.graph.edge_index)[nodes], y, Modulations()


def class_weights(y: Tensor, classes: int) -> Tensor:
    """A weight for each class, n / (k n_c), so that every class counts the same.

    n is the number of labels, n_c that of class c, and k the number of classes that occur; the
    weight of others is 0.
    """
    counts = torch.bincount(y, minlength=classes).float()
    weights = counts.sum() / (counts.count_nonzero() * counts)
    return weights.where(counts > 0, 0.0)


def _weighs_classes(recipe: Recipe) -> bool:
    return recipe.optimization.class_weight == "balanced"


def check_weights(model: Module, edge_weight: Tensor | None) -> None:
    """Check that the model uses the edge weights, if there are any.

    Raises:
        InputError: The model does not use them.
    """
    used = isinstance(model, Classifier | ScikitModel) and model.uses_edge_weights
    if edge_weight is not None and not used:
        raise InputError(
            "edge_weight",
            "this model does not use the weights of edges",
            way_out="leave the weights out, or choose a model such as LGCN, LGIN or GCN",
        )


def as_input(model: Module, x: Features) -> Features:
    """The features in a form that the model accepts: only models of ours accept sparse rows."""
    ours = isinstance(model, Classifier | DeepWalk | EitherPlanetoid | ScikitModel)
    return x.dense() if isinstance(x, SparseRows) and not ours else x


# Trains a model to its end, on a graph, its training and its validation nodes.
Learn = Callable[[Any, TrainingGraph, Tensor, Tensor], None]


class OnceEngine(Engine):
    """Trains a model in a single epoch, by a function.

    Args:
        model: The model.
        graph: The graph.
        learn: The function; takes the model, the graph, and its training and validation nodes.
    """

    def __init__(
        self,
        model: Module,
        graph: TrainingGraph,
        learn: Learn,
    ) -> None:
        self.model, self.graph, self.learn = model, graph, learn
        self._nodes = {part: torch.from_numpy(nodes.copy()) for part, nodes in graph.split}

    def step(self) -> Loss:
        """Train the model to its end."""
        self.learn(self.model, self.graph, self._nodes["train"], self._nodes["val"])
        return self._validation("train").loss

    def validate(self) -> Validation:
        """Cross-entropy, accuracy and logits on the validation nodes."""
        return self._validation("val")

    @torch.no_grad()
    def _validation(self, part: str) -> Validation:
        nodes = self._nodes[part]
        logits, y = self.logits()[nodes], self.graph.y[nodes]
        zero = torch.zeros(())
        loss = Loss(cross_entropy(logits, y), zero, zero, zero, zero)
        return Validation.of(loss, logits, y)

    @torch.no_grad()
    def logits(self) -> Tensor:
        """Logits of all nodes."""
        self.model.eval()
        logits: Tensor = self.model(self.graph.x)
        return logits

    def state(self) -> dict[str, Tensor]:
        """Nothing, since there is only one epoch."""
        return {}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Nothing to load."""


def learn_deepwalk(model: DeepWalk, graph: TrainingGraph, train: Tensor, val: Tensor) -> None:
    """Train DeepWalk: walks, embedding, and a regression whose strength validation selects."""
    model.embed(graph.edge_index, seed=int(torch.randint(2**31, ())))
    fit_logistic(model, graph.x, graph.y, train, val)


def learn_planetoid(
    model: EitherPlanetoid, graph: TrainingGraph, train: Tensor, val: Tensor
) -> None:
    """Train both forms of Planetoid; validation selects the step and the form."""
    fit = fit_better_planetoid(graph.x, graph.edge_index, graph.y, train, val)
    model.take(fit.model)


def learn_scikit(
    model: ScikitModel,
    graph: TrainingGraph,
    train: Tensor,
    val: Tensor,
    recipe: Recipe,
    seconds: float = inf,
) -> None:
    """Fit a model of scikit-learn; validation nodes choose its settings by the recipe's metric.

    Where there are none, a fifth of the training nodes is held out for that.
    """
    nodes = train.numpy(), val.numpy()
    if not len(val):
        held = hold_out(train, graph.y)
        nodes = held.train, held.val
    y, metric = graph.y.cpu().numpy(), recipe.stopping.metric

    def score(found: Probabilities) -> tuple[float, ...]:
        truth = y[nodes[1]]
        return tuple(validation_score(name, truth, found) for name in (metric, "log_loss"))

    seed = int(torch.randint(2**31, ()))
    spec = FitSpec(y, *nodes, score, _weighs_classes(recipe), seconds, seed)
    model.fit(GraphArrays.of(graph.x, graph.edge_index, graph.edge_weight), spec)


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
    if _weighs_classes(recipe):
        raise InputError(
            "class_weight",
            "is not used by this model",
            value=recipe.optimization.class_weight,
            way_out="leave it out, or choose a model such as LGCN or GCN",
        )
    return OnceEngine(model, graph, learn)
