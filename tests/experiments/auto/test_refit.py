from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nodewise.experiments.auto.refit import refit_epochs, refit_share
from nodewise.training.early_stopping import Best


class Run:
    """A run that took ten seconds and was best after some epochs."""

    epochs = 500

    def __init__(self, best: int) -> None:
        self._best = best

    def best(self) -> Best:
        return Best(epoch=self._best - 1)

    def spent(self) -> tuple[int, float]:
        return 500, 10.0


def race(left: float, workers: int = 1, budget: float = 100.0) -> Any:
    """A race in which the runs on halves are best after 40 and after 90 epochs."""
    ended = [Run(40), Run(90)]
    return SimpleNamespace(
        clock=SimpleNamespace(left=lambda: left, budget=budget),
        workers=workers,
        train=lambda what, halves, epochs, share: ended[: len(halves)],
    )


@pytest.fixture(autouse=True)
def halves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodewise.experiments.auto.refit.halves_of", lambda trial: [0, 1])


@pytest.mark.parametrize(("best", "median"), [(10, 40), (60, 60), (200, 90)])
def test_with_time_for_both_halves_the_median_epoch_is_taken(best: int, median: int) -> None:
    assert refit_epochs(Run(best), race(left=30.1)) == median  # type: ignore[arg-type]


@pytest.mark.parametrize(("best", "larger"), [(10, 40), (60, 60)])
def test_with_time_for_one_half_the_larger_epoch_is_taken(best: int, larger: int) -> None:
    assert refit_epochs(Run(best), race(left=29.9)) == larger  # type: ignore[arg-type]


def test_two_workers_train_both_halves_in_the_time_of_one() -> None:
    assert refit_epochs(Run(200), race(left=20.1, workers=2)) == 90  # type: ignore[arg-type]


def test_without_the_time_there_is_no_refit() -> None:
    assert refit_epochs(Run(60), race(left=19.9)) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(("budget", "share"), [(100.0, 0.39), (60.0, 13 / 30), (30.0, 0.05)])
def test_a_share_of_the_budget_is_kept_for_it(budget: float, share: float) -> None:
    found = refit_share(Run(60), race(left=0.0, budget=budget))  # type: ignore[arg-type]
    assert found == pytest.approx(share)
