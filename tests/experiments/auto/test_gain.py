from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import sem

from nodewise.experiments.auto.gain import Gain, in_words

RANDOM = np.random.default_rng(0)
TRUTH = RANDOM.integers(0, 2, 400)


def probabilities(strength: float, seed: int) -> np.ndarray:
    """Of two classes, right more often the stronger it is."""
    noise = np.random.default_rng(seed).standard_normal(len(TRUTH))
    one = 1 / (1 + np.exp(-(strength * (2 * TRUTH - 1) + noise)))
    return np.stack([1 - one, one], 1)


def test_the_error_of_accuracy_is_that_of_paired_differences() -> None:
    strong, weak = probabilities(1.0, 1), probabilities(0.5, 2)
    gain = Gain.of("accuracy", TRUTH, strong, weak)
    right = [(model.argmax(1) == TRUTH).astype(float) for model in (strong, weak)]
    assert gain.difference == pytest.approx(right[0].mean() - right[1].mean())
    assert gain.standard_error == pytest.approx(sem(right[0] - right[1], ddof=0))


def test_the_bootstrap_agrees_with_the_formula_where_there_is_one() -> None:
    strong, weak = probabilities(1.0, 1), probabilities(0.5, 2)
    by_formula = Gain.of("accuracy", TRUTH, strong, weak).standard_error
    by_draws = Gain.of("balanced_accuracy", TRUTH, strong, weak).standard_error
    assert by_draws == pytest.approx(by_formula, rel=0.2)


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc", "log_loss"])
def test_a_clear_gain_is_clear_and_chance_is_not(metric: str) -> None:
    strong, weak, other = (probabilities(s, k) for s, k in ((2.0, 1), (0.2, 2), (0.2, 3)))
    clear = Gain.of(metric, TRUTH, strong, weak)  # type: ignore[arg-type]
    assert clear.is_clear and clear.certainty == "clear"
    none = Gain.of(metric, TRUTH, weak, weak)  # type: ignore[arg-type]
    assert not none.is_clear and none.certainty == "within chance"
    assert abs(Gain.of(metric, TRUTH, weak, other).difference) < clear.difference  # type: ignore[arg-type]


def test_its_text_is_in_points() -> None:
    gain = Gain("accuracy", 400, 0.82, 0.8, 0.01)
    assert str(gain) == "+2.0 points (paired SE 1.0, probable)"
    assert in_words("roc_auc", 0.9) == "90.0 % ROC AUC"
    assert in_words("log_loss", -0.5) == "log loss 0.500"
