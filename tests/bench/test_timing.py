from __future__ import annotations

import time
from functools import partial

from nodewise.bench.timing import side_by_side


def test_times_are_of_the_jobs_and_take_turns() -> None:
    order: list[str] = []

    def job(name: str, pause: float) -> None:
        order.append(name)
        time.sleep(pause)

    jobs = {"a": partial(job, "a", 0.002), "b": partial(job, "b", 0.02)}
    times = side_by_side(jobs, 3)
    assert 0.002 <= times["a"] < times["b"] and times["b"] >= 0.02
    assert "".join(order).replace("aa", "a").replace("bb", "b") == "ab" * 4
