"""Small models and graphs to look into."""

from __future__ import annotations

from typing import Any

import torch
from torch_geometric.data import Data

from nodewise.analysis.view import View
from nodewise.models.zoo import build_model
from tests.training.tasks import small_graph


def random_view(name: str = "LGCN", data: Data | None = None, **settings: Any) -> View:
    """A view of a model with random weights; double precision, so that results can be compared."""
    graph = small_graph() if data is None else data
    torch.manual_seed(0)
    model = build_model(name, graph.x.size(1), 3, int(graph.x.size(0)), **settings)
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(std=0.4)
    graph = graph.clone()
    graph.x = graph.x.double()
    return View(model.double(), graph)
