"""A time limit for every test: one that hangs fails by its name, with the stacks of all threads.

At the limit (`timeout` in pyproject.toml) pytest-timeout raises in the main thread. The test fails,
what it printed has the stacks of the other threads, and the next test runs. Its method `thread`
would end the process instead, and the output of a worker of pytest-xdist would be lost.

An exception never reaches code that does not return to the interpreter: a kernel, or a library that
waits while it holds the interpreter's lock. For these a watchdog of faulthandler, which needs no
lock, prints all stacks `GRACE` seconds later and ends the process. pytest-xdist then reports the
test's name and replaces the worker.
"""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Iterator
from typing import Protocol

import pytest

GRACE = 60.0
SLOW = 3600.0
_LIMIT = pytest.StashKey[float]()
_STDERR = pytest.StashKey[int]()


class Settings(Protocol):
    """Those of pytest-timeout for a test, its marks included."""

    timeout: float


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_STDERR] = os.dup(2)  # before pytest captures what tests print


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW))


def pytest_timeout_set_timer(item: pytest.Item, settings: Settings) -> None:
    item.stash[_LIMIT] = settings.timeout
    _watch(item)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    _watch(item)  # again: pytest calls the watchdog off when a test fails


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def _watch(item: pytest.Item) -> None:
    if _LIMIT in item.stash:  # no limit where --timeout=0 was asked for
        seconds, stderr = item.stash[_LIMIT] + GRACE, item.config.stash[_STDERR]
        faulthandler.dump_traceback_later(seconds, exit=True, file=stderr)
