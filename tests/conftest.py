"""Fixtures that every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Before any test loads torch: its threads would spin while they wait, and on a machine that others
# use, too, the suite took several times as long.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

pytest_plugins = ["tests.limits"]


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


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
