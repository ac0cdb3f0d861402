from __future__ import annotations

import pytest

from nodewise.cli.progress import duration


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (3600, "60 min"), (5700, "1 h 35 min")],
)
def test_a_time_to_wait_is_told_in_the_units_people_wait_in(seconds: float, told: str) -> None:
    assert duration(seconds) == told
