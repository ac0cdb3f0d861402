"""`Engine`: trains a model for an epoch and validates it; its loss, and its graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import Module

from nodewise.data.splits.split import Split
from nodewise.models.layerwise import Watch, unwatched
from nodewise.ops.sparse import Features
from nodewise.training.processes import Processes


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
    """The loss and the outputs on the validation nodes, without dropout.

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
        """A validation with the accuracy of these logits."""
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
    def degrees(self) -> Tensor:
        """How many edges lead to each node, shape (N,)."""
        return torch.bincount(self.edge_index[1], minlength=self.y.numel())

    @property
    def inputs(self) -> tuple[Features | Tensor, ...]:
        """The arguments of a model; weights only if there are any, since many models take none."""
        args = (self.x, self.edge_index)
        return args if self.edge_weight is None else (*args, self.edge_weight)


class Engine(ABC):
    """Trains a model on a graph.

    Attributes:
        name: What it is called in records.
        model: The model.
        processes: The processes that train together.
    """

    name: str
    model: Module
    processes = Processes()

    @abstractmethod
    def step(self) -> Loss:
        """Train for an epoch; returns the loss before the step, with dropout."""

    @abstractmethod
    def validate(self) -> Validation:
        """Loss, accuracy and logits on the validation nodes, without dropout."""

    @abstractmethod
    def logits(self, watch: Watch = unwatched) -> Tensor:
        """Logits of all nodes, without dropout.

        Args:
            watch: Called after every part, where they are computed in parts.
        """

    @abstractmethod
    def state(self) -> dict[str, Tensor]:
        """The state of training besides the model's weights."""

    @abstractmethod
    def load_state(self, state: dict[str, Tensor]) -> None:
        """Restore the state that `state` returned."""
