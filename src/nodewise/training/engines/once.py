"""`OnceEngine`: DeepWalk, Planetoid and models of scikit-learn train in a single epoch."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch.nn.functional import cross_entropy

from nodewise.data.splits.drawn import hold_out
from nodewise.models.baselines.deepwalk import DeepWalk
from nodewise.models.baselines.logistic import fit_logistic
from nodewise.models.baselines.planetoid import EitherPlanetoid
from nodewise.models.baselines.planetoid_fit import fit_better_planetoid
from nodewise.models.baselines.scikit import FitSpec, GraphArrays, ScikitModel
from nodewise.models.layerwise import Watch, unwatched
from nodewise.training.engines.base import Engine, Loss, TrainingGraph, Validation
from nodewise.training.engines.class_weights import weighs_classes
from nodewise.training.metrics import Probabilities, validation_score
from nodewise.training.recipe import Recipe

# Trains a model to its end, on a graph, its training and its validation nodes.
Learn = Callable[[Any, TrainingGraph, Tensor, Tensor], None]


class OnceEngine(Engine):
    """Trains a model in a single epoch, by a function.

    Args:
        model: The model.
        graph: The graph.
        learn: The function; takes the model, the graph, and its training and validation nodes.
    """

    name = "once"

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
    def logits(self, watch: Watch = unwatched) -> Tensor:
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
    spec = FitSpec(y, *nodes, score, weighs_classes(recipe), seconds, seed)
    model.fit(GraphArrays.of(graph.x, graph.edge_index, graph.edge_weight), spec)
