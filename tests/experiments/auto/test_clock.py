from __future__ import annotations

from time import process_time, sleep

import pytest

from nodewise.errors import InputError
from nodewise.experiments.auto.clock import Clock, parse_budget, seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("5m", 300), ("5", 300), ("1.5 min", 90), ("2h", 7200)]
)
def test_a_budget_is_read(text: str, seconds: float) -> None:
    assert parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "-3m", "0s", "5 days", "5m 3s"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^budget: is not a time"):
        parse_budget(text)


def test_time_of_earlier_sessions_counts() -> None:
    clock = Clock(100.0, spent=60.0)
    assert 60 <= clock.used < 61 and 39 < clock.left() <= 40
    assert clock.left(0.5) == 0.0


def test_without_a_budget_the_size_of_the_graph_decides() -> None:
    assert seconds_of("2m", 10, 10) == 120.0
    small, many_nodes, many_edges = (
        seconds_of(None, *sizes) for sizes in ((4_999, 99_999), (5_000, 10), (10, 100_000))
    )
    assert small < 120 and 120 < many_nodes == many_edges < 300


def test_processor_time_does_not_pass_while_the_process_waits() -> None:
    clock = Clock(100.0, timer=process_time)
    sleep(0.2)
    assert clock.used < 0.1
