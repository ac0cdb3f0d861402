"""A small task that trains in a moment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import Linear, Module
from torch_geometric.data import Data

from nodewise.data.splits.drawn import random_split
from nodewise.runs.task import Task
from nodewise.training.recipe import load_recipe

OFFICIAL_SMALL = {"epochs": 12, "start_record_epoch": 3, "hidden_channels": 4}


def small_graph(classes: int = 3) -> Data:
    make = torch.Generator().manual_seed(0)
    y = torch.arange(60) % classes
    x = torch.randn(60, 7, generator=make) + torch.eye(7)[y]
    source, target = torch.randint(60, (2, 200), generator=make)
    return Data(x=x, edge_index=torch.stack([source, target]), y=y)


def small_task(model: str = "LGCN", recipe: str = "official", **settings: Any) -> Task:
    data = small_graph()
    split = random_split(data.y, per_class=5, val=20, test=None, seed=0)
    chosen = load_recipe(recipe, model, None, {**OFFICIAL_SMALL, **settings})
    return Task(data, split, {"dataset": "small"}, model, chosen)


def weighted_task(model: str = "LGCN") -> Task:
    task = small_task(model)
    data = task.data.clone()
    data.edge_weight = torch.rand(
        data.edge_index.size(1), generator=torch.Generator().manual_seed(1)
    )
    return replace(task, data=data)


class OwnModel(Module):
    """A user's model."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = Linear(7, 3)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.linear(x)  # type: ignore[no-any-return]
