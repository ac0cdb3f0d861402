"""Settings that a search proposes: from its seed and what has ended, not from when it was killed.

This module imports optuna, which need not be installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.trial import FrozenTrial, Trial, TrialState

_STARTUP = 12  # trials that are drawn at random


class SeededSampler(BaseSampler):
    """Draws each value with a seed of its own, from the search's seed, the trial and the key.

    A sampler that keeps a random state from trial to trial proposes other settings after it was
    killed, since the state is lost.

    Args:
        seed: The search's seed.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, Any]:
        """No keys are drawn together."""
        return {}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Nothing."""
        return {}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """A value for one key."""
        text = f"{self._seed} {trial.number} {param_name}"
        seed = int.from_bytes(sha256(text.encode()).digest()[:4], "little")
        sampler = TPESampler(seed=seed, n_startup_trials=_STARTUP, multivariate=False)
        return sampler.sample_independent(study, trial, param_name, param_distribution)


def next_trials(study: Study, at_once: int, most: int) -> list[Trial]:
    """The trials to run next side by side: what was begun first, then new ones.

    Rounds have fixed numbers, 0 to `at_once` - 1 and so on. A new trial knows the results of all
    earlier rounds and of none in its own, also where a killed process has lost a part of a round.

    Args:
        study: The study.
        at_once: How many run side by side.
        most: How many there are in all.
    """
    known = study.get_trials(deepcopy=False)
    begun = [trial.number for trial in known if trial.state == TrialState.RUNNING]
    first = min(begun, default=len(known))
    start = first - first % at_once
    end = min(start + at_once, most)
    round_begun = [number for number in begun if number < end]
    ended = any(trial.state.is_finished() for trial in known[start:end])
    # Without all its settings, if the process was killed meanwhile: the same are drawn again.
    trials = [Trial(study, known[number]._trial_id) for number in round_begun]
    return trials if ended else [*trials, *(study.ask() for _ in range(len(known), end))]
