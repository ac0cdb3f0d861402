from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch.nn import LayerNorm

import nodewise as nw
from nodewise.nn.row_norm import RowNorm


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def a_case(dtype: torch.dtype = torch.float32) -> tuple[Tensor, RowNorm]:
    torch.manual_seed(0)
    norm = RowNorm(64).to(dtype)
    torch.nn.init.normal_(norm.weight)
    return torch.randn(500, 64, dtype=dtype, requires_grad=True), norm


def test_it_is_torchs_and_so_are_its_gradients() -> None:
    x, norm = a_case(torch.float64)
    base = LayerNorm(64).double()
    base.load_state_dict(norm.state_dict())
    results = []
    for layer in (norm, base):
        out = layer(x)
        results.append([out, *torch.autograd.grad(out.sin().sum(), [x, *layer.parameters()])])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_its_bits_are_those_of_one_thread() -> None:
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        x, norm = a_case()
        out = norm(x)
        found.append([out, *torch.autograd.grad(out.sin().sum(), [x, *norm.parameters()])])
    for other in found[1:]:
        assert all(map(torch.equal, found[0], other))


def test_it_has_second_derivatives_and_gradients_of_some_inputs() -> None:
    x, norm = a_case(torch.float64)
    norm.weight.requires_grad_(False)
    rows = x[:4].detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda rows: norm(rows), rows)
    assert torch.autograd.gradgradcheck(lambda rows: norm(rows), rows)


@pytest.mark.parametrize("name", ["SAGE", "LSAGE"])
def test_a_stack_with_norms_has_the_same_bits_on_one_thread_and_two(name: str) -> None:
    """Law 6; seven classes, since MKL has one order for widths of eight."""
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        torch.manual_seed(0)
        x, edge_index = torch.rand(700, 40), torch.randint(0, 700, (2, 3000))
        model = nw.build_model(name, in_channels=40, out_channels=7)
        out = model(x, edge_index)
        weights = [weight for weight in model.parameters() if weight.requires_grad]
        found.append([out, *torch.autograd.grad(out.sin().sum(), weights, allow_unused=True)])
    for one, two in zip(*found, strict=True):
        assert (one is two is None) or torch.equal(one, two)
