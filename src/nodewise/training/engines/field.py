"""`FieldEngine`: computes only what the loss needs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from nodewise.models.classifier import Classifier
from nodewise.nn.modulation import Modulations
from nodewise.ops.dispatch import compile_ahead
from nodewise.training.engines.base import TrainingGraph
from nodewise.training.engines.gradient import GradientEngine
from nodewise.training.recipe import Recipe


class FieldEngine(GradientEngine):
    """Computes only what the loss needs: the receptive fields of training and validation nodes.

    Args:
        model: The model.
        graph: The graph.
        recipe: The recipe.
        on_full_graph: Whether all nodes are computed all the same, and penalized.
    """

    model: Classifier

    def __init__(
        self,
        model: Classifier,
        graph: TrainingGraph,
        recipe: Recipe,
        *,
        on_full_graph: bool = False,
    ) -> None:
        super().__init__(model, graph, recipe)
        self.name = "full" if on_full_graph else "field"
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
        """The inputs of the model for some nodes, and which rows of its output are theirs."""
        if self.model.needs_all_nodes or self.name == "full":
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
