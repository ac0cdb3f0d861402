"""Sums of squares of modulations, in panels."""

from __future__ import annotations

import pytest
import torch

from nodewise.ops import dispatch
from nodewise.ops.fused import launch
from tests.ops.fused.graphs import TARGETS


@pytest.mark.parametrize(("narrow", "width"), [(9, 700), (8, 391), (16, 700)])
def test_squares_of_several_panels_add_up_to_the_reference(
    monkeypatch: pytest.MonkeyPatch, narrow: int, width: int
) -> None:
    torch.manual_seed(2)
    monkeypatch.setattr(launch, "_PANEL", 1024)
    assert launch.panel_width(width, narrow) < width / 2
    shapes = [(TARGETS, 3, narrow), (3, width, narrow)] * 2
    leaves = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    found = []
    for kernel in ("reference", "fused"):
        with dispatch.use_kernel(kernel):
            a, b = dispatch.squares((leaves[0], leaves[1]), (leaves[2], leaves[3]))
        found.append([a, b, *torch.autograd.grad(0.3 * a + 0.7 * b, leaves)])
    for truth, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, truth, rtol=1e-10, atol=1e-10)


def test_squares_in_single_precision_below_zero_are_close_under_small_slopes() -> None:
    code, expand = -torch.rand(20, 1, 8) - 0.1, torch.rand(1, 40, 8) + 0.1
    leaves = [part.requires_grad_() for part in (code, expand)]
    exact = [leaf.detach().double().requires_grad_() for leaf in leaves]
    found = []
    for pair in (leaves, exact):
        a, b = dispatch.squares((pair[0], pair[1]), (pair[0], pair[1]), 0.001)
        found.append([a, *torch.autograd.grad(a + b, pair)])
    for ours, truth in zip(*found, strict=True):
        torch.testing.assert_close(ours.double(), truth, rtol=1e-5, atol=0)


@pytest.mark.parametrize("slope", [0.0, 0.01, 0.2, 1.0, 1.5, -0.5, -2.0])
def test_squares_agree_under_any_slope(slope: float) -> None:
    torch.manual_seed(3)
    shapes = [(TARGETS, 3, 8), (3, 40, 8)] * 2
    leaves = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    pairs = (leaves[0], leaves[1]), (leaves[2], leaves[3])
    found = []
    for kernel in ("reference", "fused"):
        with dispatch.use_kernel(kernel):
            a, b = dispatch.squares(*pairs, slope)
            with torch.no_grad():
                alone = dispatch.squares(*pairs, slope)
        found.append([a, b, *alone, *torch.autograd.grad(0.3 * a + 0.7 * b, leaves)])
    for truth, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, truth, rtol=1e-10, atol=1e-10)
