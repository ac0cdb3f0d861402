"""Fixtures that every test may ask for."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

# Before any test loads torch: its threads would spin while they wait, and on a machine that others
# use, too, the suite took several times as long.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# A shell's background job ignores Ctrl-C, and so would processes that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Workers of pytest-xdist share the cores, and so do the processes that tests start.
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
if WORKERS > 1:
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // WORKERS)))

pytest_plugins = ["tests.limits", "tests.network"]

# Folders whose tests go through commands, pages, scripts or whole runs. Elsewhere, a test of more
# than about two seconds has the mark itself.
MEDIUM = ("bench", "benchmarks", "cli", "docs", "examples", "experiments")


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folders = [Path(__file__).parent / name for name in MEDIUM]
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in folders):
            item.add_marker("medium")


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Each worker has its folder inside the session's. Caches are replaced as a whole.
    ours = tmp_path_factory.getbasetemp()
    cache = (ours.parent if "PYTEST_XDIST_WORKER" in os.environ else ours) / "cache"
    cache.mkdir(exist_ok=True)
    return cache


@pytest.fixture(autouse=True)
def _own_cache(session_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # One cache for the session, so that each data set is parsed once; never the user's own.
    monkeypatch.setenv("NODEWISE_CACHE", str(session_cache))


@pytest.fixture
def data_root() -> Path:
    """The folder of the real raw files; a test that asks for it is skipped where there is none."""
    folder = os.environ.get("NODEWISE_DATA")
    if not folder:
        pytest.skip("NODEWISE_DATA is not set: no real data sets here")
    return Path(folder)
