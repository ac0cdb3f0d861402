"""`GradientEngine`: an epoch is one step of an optimizer over all training nodes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import Module
from torch.nn.functional import cross_entropy

from nodewise.models.layerwise import Watch, unwatched
from nodewise.nn.modulation import Modulations
from nodewise.training.engines.base import Loss, TrainingGraph, Validation
from nodewise.training.engines.class_weights import class_weights, weighs_classes
from nodewise.training.engines.optimized import OptimizedEngine
from nodewise.training.inference import Inference
from nodewise.training.recipe import Recipe


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


class GradientEngine(OptimizedEngine):
    """An engine whose epoch is one step of a gradient optimizer over all training nodes.

    Args:
        model: The model.
        graph: The graph.
        recipe: The recipe.
    """

    def __init__(self, model: Module, graph: TrainingGraph, recipe: Recipe) -> None:
        super().__init__(model, recipe)
        self.graph = graph

    @abstractmethod
    def outputs(self, part: str) -> tuple[Tensor, Tensor, Modulations]:
        """Logits of the nodes of "train" or "val", their labels, and the modulations."""

    def _loss(self, part: str) -> tuple[Loss, Tensor, Tensor]:
        logits, y, modulations = self.outputs(part)
        terms = self.recipe.penalty(*self.penalized(), modulations)
        fit = self._fit(logits, y, part)
        return Loss(fit, *terms, fit.new_zeros(())), logits, y

    def _fit(self, logits: Tensor, y: Tensor, part: str) -> Tensor:
        """The cross-entropy; on training nodes with weights of classes, if the recipe says so."""
        weighted = part == "train" and weighs_classes(self.recipe)
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

    def logits(self, watch: Watch = unwatched) -> Tensor:
        """Logits of all nodes; layer by layer where the full graph's need too much memory."""
        return Inference(watch=watch).logits(self.model, self.graph.inputs)
