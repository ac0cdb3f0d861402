from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nodewise.models.classifier import LGCN
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.nn.modulation import Modulation, Modulations
from nodewise.nn.penalty import Penalty


def modulation(level: str, scale: Tensor, shift: Tensor, heads: int = 1) -> Modulation:
    squares = (scale - 1).square().sum(), shift.square().sum()
    functions = lambda: scale - 1, lambda: shift
    return Modulation(level, lambda: squares, scale.numel(), heads, *functions)


NODE = modulation("node", torch.tensor([[2.0, 1.0, 3.0]]), torch.tensor([[1.0, 0.0, 0.0]]))
EDGE = modulation("edge", torch.tensor([[0.0]]), torch.tensor([[2.0]]))


def test_printed_form_pools_everything() -> None:
    terms = Penalty(0.1, 10.0, 2.0)(
        [torch.tensor([3.0])], [torch.tensor([1.0, 2.0])], Modulations([NODE, EDGE])
    )
    assert terms.global_weights == pytest.approx(0.1 * 9)
    assert terms.local_weights == pytest.approx(10 * 5)
    # |A - 1|^2 / |A| = (1 + 0 + 4 + 1) / 4 and |B|^2 / |B| = (1 + 4) / 4.
    assert terms.modulations == pytest.approx(2 * (6 / 4 + 5 / 4))


def test_released_form_adds_means_and_halves() -> None:
    penalty = Penalty(0.1, 10.0, 2.0, modulation_mean="tensor", half_norms=True, edge_share=0.5)
    terms = penalty([torch.tensor([3.0])], [torch.tensor([2.0])], Modulations([NODE, EDGE]))
    assert terms.global_weights == pytest.approx(0.05 * 9)
    assert terms.local_weights == pytest.approx(5 * 4)
    assert terms.modulations == pytest.approx(2 * (5 / 3 + 1 / 3 + 0.5 * (1 + 4)))


def test_each_head_has_a_mean_of_its_own_in_the_released_form() -> None:
    two = modulation("node", torch.full((1, 2, 3), 2.0), torch.zeros(1, 2, 3), heads=2)
    terms = Penalty(0, 0, 1.0, modulation_mean="tensor")([], [], Modulations([two]))
    assert terms.modulations == pytest.approx(2.0)


def test_bias_modulations_can_be_left_out() -> None:
    bias = modulation("bias", torch.tensor([[5.0]]), torch.tensor([[0.0]]))
    assert Penalty(0, 0, 1.0, bias_modulations=False)([], [], Modulations([bias])).modulations == 0
    assert Penalty(0, 0, 1.0)([], [], Modulations([bias])).modulations == pytest.approx(16)


def test_nothing_localized_costs_nothing() -> None:
    terms = Penalty()([], [], Modulations())
    assert [float(term) for term in terms] == [0.0, 0.0, 0.0]


def test_gradient_is_that_of_the_materialized_modulations() -> None:
    torch.manual_seed(0)
    conv = LocalizedConv(5, 4, bottleneck=3, heads=2).double()
    x, edges = torch.randn(6, 5, dtype=torch.float64), torch.randint(0, 6, (2, 14))

    def gradient(materialized: bool) -> list[Tensor]:
        _, modulations = conv(x, edges, return_modulations=True)
        if materialized:
            values = [
                (one.scale - 1).square().sum() + one.shift.square().sum() for one in modulations
            ]
            total = sum(values) / sum(one.count for one in modulations)
        else:
            total = Penalty(0, 0, 1.0)([], [], modulations).modulations
        return list(torch.autograd.grad(total, conv.local_parameters()))

    for ours, truth in zip(gradient(False), gradient(True), strict=True):
        torch.testing.assert_close(ours, truth)


def test_of_a_model_is_the_sum_of_its_terms() -> None:
    torch.manual_seed(0)
    model, penalty = LGCN(5, 4, 3), Penalty(0.1, 0.2, 0.3)
    x, edges = torch.randn(6, 5), torch.randint(0, 6, (2, 14))
    _, modulations = model(x, edges, return_modulations=True)
    terms = penalty(model.global_parameters(), model.local_parameters(), modulations)
    found, weights = penalty.of(model, modulations), list(model.parameters())
    torch.testing.assert_close(found, sum(terms))
    for ours, expected in zip(
        torch.autograd.grad(found, weights, retain_graph=True),
        torch.autograd.grad(sum(terms), weights),  # type: ignore[arg-type]
        strict=True,
    ):
        torch.testing.assert_close(ours, expected)
    conv = model.layers[0]
    assert penalty.of(conv, modulations) < found
