"""The mask drops at its rate, and its bits are independent of everything else."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nodewise.ops.dropconnect import DropConnect, keep_entries, keep_mask

NODES, HEADS, OUT, WIDTH = 60, 4, 8, 100


def mask(rate: float, seed: int) -> Tensor:
    drop = DropConnect(rate, torch.tensor(seed))
    return keep_mask(drop, torch.arange(NODES), HEADS, OUT, WIDTH)


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
@pytest.mark.parametrize("seed", [0, 1, 12345, 2**31 - 1])
def test_kept_fraction_within_four_sigma(rate: float, seed: int) -> None:
    kept = mask(rate, seed)
    sigma = (rate * (1 - rate) / kept.numel()) ** 0.5
    assert abs(kept.mean().item() - (1 - rate)) < 4 * sigma


@pytest.mark.parametrize("rate", [0.1, 0.4, 0.9])
@pytest.mark.parametrize("axis", [0, 1, 2, 3])
def test_neighbors_along_every_axis_are_independent(rate: float, axis: int) -> None:
    kept = mask(rate, 3) - (1 - rate)
    for step in (1, 2, 3):
        first = kept.narrow(axis, 0, kept.size(axis) - step)
        second = kept.narrow(axis, step, kept.size(axis) - step)
        correlation = (first * second).mean() / (rate * (1 - rate))
        assert abs(correlation.item()) < 4 / first.numel() ** 0.5


def entries(rate: float, seed: int, count: int = 200_003) -> Tensor:
    drop = DropConnect(rate, torch.tensor(seed))
    return keep_entries(drop, count, torch.device("cpu")).double()


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
@pytest.mark.parametrize("seed", [0, 1, 12345, 2**31 - 1])
def test_kept_fraction_of_entries_within_four_sigma(rate: float, seed: int) -> None:
    kept = entries(rate, seed)
    sigma = (rate * (1 - rate) / kept.numel()) ** 0.5
    assert abs(kept.mean().item() - (1 - rate)) < 4 * sigma


@pytest.mark.parametrize("rate", [0.1, 0.4, 0.9])
@pytest.mark.parametrize("step", [1, 2, 7, 8, 9, 16, 1433])
def test_entries_and_draws_are_independent(rate: float, step: int) -> None:
    kept = entries(rate, 3) - (1 - rate)
    for other in (kept, entries(rate, 4) - (1 - rate)):
        correlation = (kept[:-step] * other[step:]).mean() / (rate * (1 - rate))
        assert abs(correlation.item()) < 4 / (kept.numel() - step) ** 0.5


@pytest.mark.parametrize("rate", [0.1, 0.4, 0.9])
def test_steps_are_independent(rate: float) -> None:
    for seed in (0, 7, 99991):
        first, second = (mask(rate, s) - (1 - rate) for s in (seed, seed + 1))
        correlation = (first * second).mean() / (rate * (1 - rate))
        assert abs(correlation.item()) < 4 / first.numel() ** 0.5


def test_fresh_draws_follow_torchs_random_state() -> None:
    torch.manual_seed(4)
    first = DropConnect.draw(0.5, training=True)
    second = DropConnect.draw(0.5, training=True)
    torch.manual_seed(4)
    again = DropConnect.draw(0.5, training=True)
    assert first is not None and second is not None and again is not None
    assert first.seed == again.seed != second.seed
    assert DropConnect.draw(0.5, training=False) is None
    assert DropConnect.draw(0.0, training=True) is None
