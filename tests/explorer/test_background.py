from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from nodewise.experiments.plane import STAGES
from nodewise.explorer.background import Background, staged

ROWS = np.random.default_rng(0).normal(size=(40, 4))


def background(rows: Any = ROWS) -> Background:
    return Background(lambda key: (rows, np.arange(30)))


def test_rows_that_are_left_out_take_the_place_of_the_most_similar_one() -> None:
    rows = ROWS.copy()
    rows[35] = rows[4] + 1e-6
    *_, points = staged(rows, np.arange(30))
    assert points.shape == (40, 2) and (points[35] == points[4]).all()
    assert len(np.unique(points[:30], axis=0)) == 30


@pytest.mark.medium
def test_a_map_is_laid_out_while_the_caller_goes_on() -> None:
    found = background()
    assert found.progress("local").stage == 0 and found.points("local") is None
    assert found.progress("hidden").stage == 0  # waits until the first map is ready
    end = time.monotonic() + 120
    while not found.progress("local").ended and time.monotonic() < end:
        time.sleep(0.05)
    *_, last = staged(ROWS, np.arange(30))
    assert found.progress("local").stage == STAGES == found.stage("local")
    np.testing.assert_array_equal(found.points("local"), last)
    told: list[int] = []
    assert found.finish("hidden", told.append) and told == sorted(told) and told[-1] == STAGES


@pytest.mark.medium
def test_a_process_that_dies_is_reported_and_another_map_can_follow() -> None:
    found = background(np.full((40, 4), np.nan))
    assert not found.finish("local", lambda stage: None)
    assert found.progress("local").failed and found.points("local") is None
    found.rows = background().rows
    assert found.finish("hidden", lambda stage: None)
