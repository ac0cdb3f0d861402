from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nodewise.nn import modulation
from nodewise.nn.localized_conv import LocalizedConv
from nodewise.nn.modulation import Modulations
from tests.graphs import NINE_EDGES
from tests.nn.test_localized_conv import FORMS, conv_of


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(0)
    return torch.randn(6, 5, dtype=torch.float64)


def test_sums_of_squares_are_computed_when_they_are_read(
    x: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    real = modulation.squares
    monkeypatch.setattr(modulation, "squares", lambda *pairs: asked.append(pairs) or real(*pairs))
    _, modulations = LocalizedConv(x.size(1), 3).to(x.dtype)(x, NINE_EDGES, return_modulations=True)
    assert not asked
    assert modulations[0].scale_squares > 0 and modulations[0].shift_squares > 0
    assert len(asked) == 1


@pytest.mark.parametrize("form", FORMS)
def test_returned_modulations_have_the_squares_they_claim(form: str, x: Tensor) -> None:
    out, modulations = conv_of(form)(x, NINE_EDGES, return_modulations=True)
    assert out.shape == conv_of(form)(x, NINE_EDGES).shape
    for one in modulations:
        torch.testing.assert_close(one.scale_squares, (one.scale - 1).square().sum())
        torch.testing.assert_close(one.shift_squares, one.shift.square().sum())
        assert one.count == one.scale.numel() == one.shift.numel()
    assert [one.level for one in modulations] == [
        level
        for level, part in (
            ("node", conv_of(form).node_modulator),
            ("bias", conv_of(form).bias_modulator),
            ("edge", conv_of(form).edge_modulator),
        )
        if part is not None
    ]


def test_modulations_are_a_sequence(x: Tensor) -> None:
    _, modulations = LocalizedConv(5, 4).double()(x, NINE_EDGES, return_modulations=True)
    node, edge = modulations
    assert [one.level for one in modulations + Modulations([node])] == ["node", "edge", "node"]
    assert modulations[-1] is edge and len(modulations) == 2
    assert [len(scale) for scale in modulations.scales] == [6, modulations[1].count // 4]
    assert all(map(torch.equal, modulations.shifts, (node.shift, edge.shift)))


@pytest.mark.parametrize("bottleneck", [None, 2])
def test_generators_of_zeros_leave_zero_by_their_first_step(bottleneck: int | None) -> None:
    """Of two matrices one starts otherwise, since each one's gradient has the other as a factor."""
    modulator = modulation.NodeModulator(5, 1, bottleneck, "zeros")
    assert not modulator.to_scale.expand.any()
    assert all(reduce.any() for reduce in modulator.reduces)
    assert len(modulator.reduces) == (0 if bottleneck is None else 2)
