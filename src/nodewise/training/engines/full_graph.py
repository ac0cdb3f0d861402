"""`FullGraphEngine`: any model, on the full graph."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import Module

from nodewise.nn.modulation import Modulations
from nodewise.training.engines.base import TrainingGraph
from nodewise.training.engines.gradient import GradientEngine
from nodewise.training.engines.model_inputs import as_input
from nodewise.training.recipe import Recipe


class FullGraphEngine(GradientEngine):
    """Any model with `forward(x, edge_index)`, on the full graph and dense features.

    All its parameters are Theta_G, penalized by `lambda_global`.
    """

    name = "full"

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
