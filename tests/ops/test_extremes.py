"""Extreme numbers and shapes: training and predictions are finite, or an error says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

import nodewise as nw
from nodewise.errors import NodewiseError

WIDTH = 5


def a_graph(edge_index: Tensor, x: Tensor, classes: int = 3) -> Data:
    nodes, labeled = len(x), 3 * max(20, classes)
    y = torch.full((nodes,), -1)
    y[:labeled] = torch.arange(labeled) % classes
    part = torch.arange(nodes) // max(classes, 20)
    masks = {
        f"{name}_mask": (part == i) & (y >= 0) for i, name in enumerate(("train", "val", "test"))
    }
    return Data(x=x, edge_index=edge_index, y=y, **masks)


def random_rows(nodes: int) -> Tensor:
    return torch.rand(nodes, WIDTH, generator=torch.Generator().manual_seed(0))


def random_edges(nodes: int, count: int) -> Tensor:
    return torch.randint(0, nodes, (2, count), generator=torch.Generator().manual_seed(1))


def with_rows(change: Callable[[Tensor], Tensor]) -> Data:
    return a_graph(random_edges(80, 200), change(random_rows(80)))


def a_hub(nodes: int = 100_000) -> Data:
    """Everybody sends to node 0."""
    sources = torch.arange(1, nodes + 1)
    return a_graph(torch.stack([sources, torch.zeros_like(sources)]), random_rows(nodes + 1))


CASES: dict[str, Callable[[], Data]] = {
    "rows of 1e30": lambda: with_rows(lambda x: x * 1e30),
    "rows of the largest number": lambda: with_rows(lambda x: x.sign() * 3.4e38),
    "denormal rows": lambda: with_rows(lambda x: x * 1e-40),
    "zero rows": lambda: with_rows(torch.zeros_like),
    "some zero rows": lambda: with_rows(lambda x: x * (torch.arange(80) % 2)[:, None]),
    "a hub": a_hub,
    "isolated nodes": lambda: a_graph(random_edges(100, 300), random_rows(50_000)),
    "no edges": lambda: a_graph(torch.zeros(2, 0, dtype=torch.int64), random_rows(80)),
    "a thousand classes": lambda: a_graph(
        random_edges(4000, 9000), random_rows(4000), classes=1000
    ),
    "one class": lambda: a_graph(random_edges(80, 200), random_rows(80), classes=1),
}


# Cases that may end in an error.
REFUSED = ("rows of 1e30", "rows of the largest number", "no edges", "one class")
MODELS = [
    pytest.param("LGCN", marks=pytest.mark.medium),
    pytest.param("LGAT", marks=pytest.mark.slow),
    pytest.param("LSAGE", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("kernel", ["reference", "factored", "fused"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("case", CASES)
def test_results_are_finite_or_an_error_says_why(case: str, name: str, kernel: str) -> None:
    with nw.use_kernel(kernel):
        is_finite_or_refused(case, name, {"epochs": 2})


@pytest.mark.medium
@pytest.mark.parametrize("case", CASES)
def test_mini_batches_give_finite_results_or_an_error(case: str) -> None:
    settings = {"epochs": 2, "engine": "minibatch", "batch_size": 256, "fanout": "5,5"}
    is_finite_or_refused(case, "LGCN", settings)


def is_finite_or_refused(case: str, name: str, settings: dict[str, Any]) -> None:
    data = CASES[case]()
    try:
        classifier = nw.NodeClassifier(name, settings=settings).fit(data)
        probabilities = classifier.predict_proba(data)
    except NodewiseError as error:
        assert "\n" not in str(error) and len(str(error)) < 500
        assert case in REFUSED, error
        return
    assert torch.as_tensor(probabilities).isfinite().all()
