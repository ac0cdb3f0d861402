"""`OptimizedEngine`: what engines share whose steps follow a gradient."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import Module

from nodewise.training.engines.base import Engine
from nodewise.training.recipe import Recipe


class OptimizedEngine(Engine):
    """An engine with an optimizer.

    Args:
        model: The model.
        recipe: The recipe.
    """

    def __init__(self, model: Module, recipe: Recipe) -> None:
        self.model, self.recipe = model, recipe
        self.optimizer = torch.optim.Adam(
            model.parameters(), lr=recipe.optimization.learning_rate, fused=True
        )

    def penalized(self) -> tuple[list[Tensor], list[Tensor]]:
        """Theta_G and Theta_L."""
        return list(self.model.parameters()), []

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
