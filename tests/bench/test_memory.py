"""Memory of a job, measured in a child process."""

from __future__ import annotations

import pytest
import torch

from nodewise.bench.memory import extra_peak_mb, in_child
from nodewise.errors import RunError
from tests.bench.jobs import (
    as_many_hundred_megabytes_as_threads,
    broken,
    fill_and_watch,
    hungry,
    hungry_in_pieces,
)


def test_memory_is_that_of_the_job() -> None:
    small, large = extra_peak_mb(hungry, 8), extra_peak_mb(hungry, 108)
    if small is None or large is None:
        pytest.skip("this system does not tell a process's high-water mark")
    assert 80 < large - small < 120


def test_memory_that_the_first_call_freed_counts() -> None:
    taken = extra_peak_mb(hungry_in_pieces, 100)
    assert taken is None or 90 < taken < 130


def test_memory_is_measured_on_as_many_threads_as_we_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    taken = extra_peak_mb(as_many_hundred_megabytes_as_threads)
    assert taken is None or 280 < taken < 330


def test_a_job_that_fails_is_not_a_system_that_does_not_tell() -> None:
    with pytest.raises(RunError, match="ended early"):
        extra_peak_mb(broken)


def test_resident_memory_is_watched_while_it_is_there() -> None:
    peak, anonymous = in_child(fill_and_watch, 200)
    assert peak is None or (anonymous > 200 and peak >= anonymous)
