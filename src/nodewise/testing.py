"""The laws a localized model obeys, as assertions for layers and models of any kind.

Each takes what it needs, returns nothing, and raises AssertionError with the distance it found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch.nn.functional import cross_entropy

from nodewise.data.sampling.csc import CscGraph
from nodewise.data.sampling.edge_sums import EdgeSums
from nodewise.data.sampling.sampler import NeighborSampler
from nodewise.models.classifier import Classifier
from nodewise.nn.localize import localize
from nodewise.nn.penalty import Penalty
from nodewise.ops.dispatch import KERNELS, use_kernel
from nodewise.training.engines.sampled_field import FieldMaker


def _assert_same(ours: Tensor, expected: Tensor, tolerance: float, law: str) -> None:
    distance = (ours - expected).abs().max().item() if ours.numel() else 0.0
    if ours.shape != expected.shape or not distance <= tolerance:
        raise AssertionError(f"{law}: largest difference {distance:.3g}, allowed {tolerance:g}")


def assert_reduces_to_base(conv: Module, *inputs: Any, tolerance: float = 1e-6) -> None:
    """Law 1: with scales one and shifts zero, the localized twin equals its base conv.

    Args:
        conv: A PyG conv that `nodewise.localize` knows.
        *inputs: The inputs of the conv.
        tolerance: The largest difference allowed.
    """
    twin = localize(conv).to(next(conv.parameters()).dtype)
    twin.train(conv.training)
    _assert_same(twin(*inputs), conv(*inputs), tolerance, "reduction to the base conv")


def assert_kernels_agree(
    module: Module, x: Any, edge_index: Tensor, tolerance: float = 1e-10
) -> None:
    """Law 2: every kernel gives the reference's output and gradients, that of dense x included.

    Args:
        module: A layer or model, called as `module(x, edge_index)`; best in float64 and eval mode.
        x: Its features.
        edge_index: Its edges.
        tolerance: The largest difference allowed.
    """
    expected = _output_and_gradients(module, x, edge_index, "reference")
    for kernel in KERNELS:
        found = _output_and_gradients(module, x, edge_index, kernel)
        for ours, truth in zip(found, expected, strict=True):
            _assert_same(ours, truth, tolerance, f"kernel {kernel!r}")


def _output_and_gradients(module: Module, x: Any, edge_index: Tensor, kernel: str) -> list[Tensor]:
    with use_kernel(kernel):
        weights = [weight for weight in module.parameters() if weight.requires_grad]
        if isinstance(x, Tensor) and x.layout == torch.strided:
            x = x.detach().requires_grad_()
            weights.append(x)
        out = module(x, edge_index)
        # A linear function of the output, different in every entry, so that no error cancels.
        slopes = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
        grads = torch.autograd.grad((out * slopes).sum(), weights, allow_unused=True)
    return [out.detach(), *(grad for grad in grads if grad is not None)]


def assert_renumbering_renumbers(
    module: Module, x: Tensor, edge_index: Tensor, tolerance: float = 1e-6, seed: int = 0
) -> None:
    """Law 3: renumbered nodes have the same rows under their new numbers.

    Args:
        module: A layer or model, called as `module(x, edge_index)`, in eval mode.
        x: Its features.
        edge_index: Its edges.
        tolerance: The largest difference allowed.
        seed: Which renumbering.
    """
    generator = torch.Generator().manual_seed(seed)
    old_of_new = torch.randperm(x.size(0), generator=generator)
    new_of_old = torch.argsort(old_of_new)
    ours = module(x[old_of_new], new_of_old[edge_index])
    _assert_same(ours, module(x, edge_index)[old_of_new], tolerance, "renumbering")


def assert_field_equals_full_graph(
    model: Classifier, x: Any, edge_index: Tensor, targets: Tensor, tolerance: float = 1e-6
) -> None:
    """Law 4: on a receptive field its targets have the same rows as on the full graph.

    Args:
        model: The model, in eval mode.
        x: Features of all nodes.
        edge_index: All edges.
        targets: The nodes whose rows are compared.
        tolerance: The largest difference allowed.
    """
    field = model.receptive_field(edge_index, x.size(0), targets)
    ours = model(field.take(x), field)
    _assert_same(ours, model(x, edge_index)[targets], tolerance, "receptive field")


def assert_batch_equals_full_graph(
    model: Classifier,
    x: Any,
    edge_index: Tensor,
    targets: Tensor,
    edge_weight: Tensor | None = None,
    tolerance: float = 1e-6,
) -> None:
    """Law 4: in a mini-batch with all neighbors its seeds have the same rows as on the full graph.

    Args:
        model: The model, in eval mode.
        x: Features of all nodes.
        edge_index: All edges.
        targets: The nodes whose rows are compared.
        edge_weight: A weight for each edge, or None.
        tolerance: The largest difference allowed.
    """
    csc = CscGraph.from_edges(edge_index, x.size(0), edge_weight)
    rules, dtype = [conv.aggregator.rule for conv in model.layers], next(model.parameters()).dtype
    nodes = targets.numpy()
    fields = FieldMaker.of(EdgeSums.of(csc), rules, nodes, dtype)
    field = fields(NeighborSampler(csc, [-1] * len(rules)).sample(nodes), 1.0)
    ours = model(field.take(x), field)
    full = model(x, edge_index, edge_weight)
    _assert_same(ours, full[targets], tolerance, "mini-batch with all neighbors")


def assert_parameter_count(model: Module, count: int, *, with_biases: bool = False) -> None:
    """Law 5: the model has exactly `count` parameters.

    Args:
        model: The model.
        count: The expected number.
        with_biases: Whether parameters called bias count; the paper's table leaves them out.
    """
    found = sum(
        weight.numel()
        for name, weight in model.named_parameters()
        if weight.requires_grad and (with_biases or "bias" not in name.split(".")[-1])
    )
    if found != count:
        raise AssertionError(f"parameter count: found {found}, expected {count}")


@contextmanager
def localization_off(model: Classifier) -> Iterator[None]:
    """Scales one and shifts zero inside the block: the model computes its global model."""
    saved = [(weight, weight.detach().clone()) for weight in model.local_parameters()]
    with torch.no_grad():
        for weight, _ in saved:
            weight.zero_()
    try:
        yield
    finally:
        with torch.no_grad():
            for weight, value in saved:
                weight.copy_(value)


def distance_to_base(model: Classifier, x: Any, edge_index: Tensor) -> float:
    """How far localization moves the outputs: the number that falls as lambda grows (law 7)."""
    with torch.no_grad():
        localized = model(x, edge_index)
        with localization_off(model):
            return float((localized - model(x, edge_index)).abs().max())


def assert_lambda_leads_to_base(
    make: Callable[[], Classifier],
    x: Tensor,
    edge_index: Tensor,
    y: Tensor,
    lambdas: Sequence[float] = (0.0, 1.0, 100.0),
    steps: int = 400,
    share: float = 0.05,
) -> None:
    """Law 7: trained under a growing lambda, a model approaches its global model.

    Args:
        make: Returns the model, always the same one, without dropout.
        x: Features.
        edge_index: Edges.
        y: A class for every node.
        lambdas: Weights of the modulations' penalty, ascending.
        steps: Training steps under each.
        share: The largest allowed ratio of the last distance to the first.
    """
    distances = [_trained_distance(make(), x, edge_index, y, each, steps) for each in lambdas]
    falls = all(after <= before for before, after in pairwise(distances))
    if not falls or not distances[-1] <= share * distances[0]:
        listed = ", ".join(f"{distance:.3g}" for distance in distances)
        raise AssertionError(f"lambda leads to the base: distances from it are {listed}")


def _trained_distance(
    model: Classifier, x: Tensor, edge_index: Tensor, y: Tensor, strength: float, steps: int
) -> float:
    penalty = Penalty(0, 0, strength)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(steps):
        optimizer.zero_grad()
        out, modulations = model(x, edge_index, return_modulations=True)
        loss = cross_entropy(out, y) + penalty.of(model, modulations)
        loss.backward()  # type: ignore[no-untyped-call]  # as torch has it
        optimizer.step()
    return distance_to_base(model, x, edge_index)
