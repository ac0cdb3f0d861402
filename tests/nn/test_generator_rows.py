"""Generators that see rows of one sum do not depend on the size of the features."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nodewise.errors import InputError
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.nn.options import LocalizationOptions
from tests.graphs import NINE_EDGES

SUM = 0.3


def conv_of(row_sum: float, **options: object) -> LocalizedConv:
    torch.manual_seed(1)
    localization = LocalizationOptions(bias=True, generator_row_sum=row_sum)
    return LocalizedConv(5, 4, "mean", bias=True, localization=localization, **options)  # type: ignore[arg-type]


def features() -> Tensor:
    torch.manual_seed(0)
    return torch.randn(6, 5)


def modulations(conv: LocalizedConv, x: Tensor) -> list[Tensor]:
    """Scales, less one, and shifts of all levels."""
    _, found = conv(x, NINE_EDGES, return_modulations=True)
    return [part for one in found for part in (one.scale - 1, one.shift)]


@pytest.mark.parametrize("bottleneck", [None, 3])
def test_scales_and_shifts_do_not_depend_on_the_size_of_the_features(bottleneck: int) -> None:
    conv, x = conv_of(SUM, bottleneck=bottleneck), features()
    for size in (1e-3, 1.0, 1e4):
        for ours, expected in zip(modulations(conv, size * x), modulations(conv, x), strict=True):
            torch.testing.assert_close(ours, expected)


def test_rows_as_they_are_make_larger_scales_of_larger_features() -> None:
    conv, x = conv_of(0), features()
    for ours, expected in zip(modulations(conv, 100 * x), modulations(conv, x), strict=True):
        assert ours.abs().max() > 50 * expected.abs().max()


def test_no_scale_is_farther_from_one_than_the_sum_times_the_largest_weight() -> None:
    conv, largest = conv_of(SUM), 2.0
    for weight in conv.local_parameters():
        torch.nn.init.uniform_(weight, -largest, largest)
    _, found = conv(1e3 * features(), NINE_EDGES, return_modulations=True)
    assert {one.level for one in found} == {"node", "edge", "bias"}
    for one in found:
        ends = 2 if one.level == "edge" else 1
        for part in (one.scale - 1, one.shift):
            assert 0 < part.abs().max() <= ends * SUM * largest


def test_rows_of_zeros_stay_zero_and_have_finite_gradients() -> None:
    conv, x = conv_of(SUM), features()
    x[2], x[4] = 0, 1e-30
    out, found = conv(x.requires_grad_(), NINE_EDGES, return_modulations=True)
    (out.sum() + sum(one.scale_squares + one.shift_squares for one in found)).backward()
    assert x.grad is not None and x.grad.isfinite().all()


@pytest.mark.parametrize("row_sum", [-1.0, float("inf"), float("nan")])
def test_a_sum_that_is_none_is_refused(row_sum: float) -> None:
    with pytest.raises(InputError, match="generator_row_sum"):
        LocalizationOptions(generator_row_sum=row_sum)
