from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from nodewise.training.metrics import score
from nodewise.training.temperature import best_temperature


def test_it_finds_by_how_much_logits_are_too_large() -> None:
    draw = np.random.default_rng(0)
    logits = draw.normal(size=(4000, 3))
    y = np.array([draw.choice(3, p=p) for p in softmax(logits, axis=1)])
    assert best_temperature(4 * logits, y) == pytest.approx(4, rel=0.15)
    before, after = (score(y, softmax(4 * logits / t, axis=1)) for t in (1, 4))
    assert after.calibration_error < before.calibration_error / 3
    assert after.accuracy == before.accuracy


def test_certainty_is_bounded() -> None:
    assert best_temperature(np.eye(3), np.arange(3)) == pytest.approx(0.1, rel=0.01)
    assert best_temperature(np.eye(3), np.array([1, 2, 0])) == pytest.approx(10, rel=0.01)
