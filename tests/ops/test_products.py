from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nodewise.ops import dispatch, products, reference

# Rows, and the widths of both sides: the second is wide, the third is left to the BLAS.
SHAPES = [(3000, 64, 64), (800, 700, 24), (3000, 24, 200)]


@pytest.fixture(autouse=True)
def needs_onednn() -> None:
    if not products._is_there():
        pytest.skip("this torch comes without oneDNN")


def case(rows: int, width: int, out: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    return torch.randn(rows, width), torch.randn(out, width)


def results(form: object, x: Tensor, weight: Tensor) -> list[Tensor]:
    x, weight = x.clone().requires_grad_(), weight.clone().requires_grad_()
    out = form(x, weight)  # type: ignore[operator]
    return [out, *torch.autograd.grad(out.sin().sum(), [x, weight])]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_product_and_its_gradients_are_those_of_the_reference(
    shape: tuple[int, int, int],
) -> None:
    x, weight = case(*shape)
    truth = results(reference.project, x.double(), weight.double())
    for ours, expected in zip(results(products.project, x, weight), truth, strict=True):
        bound = 2e-6 * expected.abs().max().item() * shape[1] ** 0.5
        torch.testing.assert_close(ours.double(), expected, rtol=0, atol=max(bound, 1e-3))


@pytest.mark.parametrize("shape", SHAPES[:2])
def test_same_bits_on_any_number_of_threads(shape: tuple[int, int, int]) -> None:
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(results(products.project, *case(*shape))[:2])
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(map(torch.equal, found[0], other))


@pytest.mark.parametrize("shape", [(140, 64, 5), (700, 64, 7), (3000, 64, 6), (2708, 500, 7)])
def test_the_gradient_of_odd_weights_has_the_same_bits_on_two_threads(
    shape: tuple[int, int, int],
) -> None:
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(results(products.project, *case(*shape)))
    finally:
        torch.set_num_threads(before)
    assert all(map(torch.equal, *found))


def test_rows_and_weights_may_be_views() -> None:
    x, weight = case(64, 3000, 64)
    x, weight = x.t(), weight[:, :64]
    torch.testing.assert_close(products.project(x, weight), x @ weight.t(), rtol=1e-5, atol=1e-4)


def test_it_has_second_derivatives() -> None:
    x, weight = (part.requires_grad_() for part in case(2000, 64, 32))

    def second(form: object) -> Tensor:
        (first,) = torch.autograd.grad(
            form(x, weight).pow(3).mean(),  # type: ignore[operator]
            weight,
            create_graph=True,
        )
        return torch.autograd.grad(first.square().sum(), x)[0]

    torch.testing.assert_close(second(products.project), second(reference.project))


def test_it_is_used_by_the_fused_kernels_only(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    monkeypatch.setattr(products._Product, "apply", lambda *pair: calls.append(pair))
    x, weight = case(*SHAPES[0])
    for kernel in dispatch.KERNELS:
        with dispatch.use_kernel(kernel):
            dispatch.project(x, weight)
            dispatch.project(x[:10], weight)
            dispatch.project(x.double(), weight.double())
    assert len(calls) == 1


def test_it_stays_out_of_mixed_precision_and_of_compiled_models() -> None:
    x, weight = case(*SHAPES[0])
    with torch.autocast("cpu", torch.bfloat16):
        assert dispatch.project(x, weight).dtype == torch.bfloat16
    compiled = torch.compile(dispatch.project, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, weight), x @ weight.t(), rtol=1e-5, atol=1e-4)
