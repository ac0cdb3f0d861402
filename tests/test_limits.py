"""A test that hangs ends, with a name and the stacks of all threads, and the others run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.medium
SHORT = """
pytest_plugins = ["tests.limits"]
def pytest_configure():
    from tests import limits
    limits.GRACE = 1.0
"""
WAITS = """
import threading
def heartbeat():
    threading.Event().wait()
def test_waits():
    thread = threading.Thread(target=heartbeat, daemon=True)
    thread.start()
    thread.join()
"""
# PyDLL keeps the interpreter's lock, and signals do not end a wait for a mutex.
HOLDS_THE_LOCK = """
import ctypes
def deaf():
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):
        ctypes.PyDLL(None).pthread_mutex_lock(mutex)
def test_holds_the_lock():
    deaf()
"""
FAILS_AND_HANGS = """
import pytest, threading
@pytest.fixture
def unclosed():
    yield
    threading.Event().wait()
def test_hangs_at_its_end(unclosed):
    assert not "this is reported"
"""
PASSES = "def test_passes(): pass\n"


def run(folder: Path, tests: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    """Run tests with our options, but for a limit of one second."""
    for name, text in {"conftest": SHORT, **tests}.items():
        (folder / f"{name}.py").write_text(text)
    ours = ["-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider", "--timeout", "1"]
    command = [sys.executable, "-m", "pytest", *ours, *options, str(folder)]
    there = {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **there})


def test_a_test_that_waits_fails_and_the_next_one_runs(tmp_path: Path) -> None:
    done = run(tmp_path, {"test_a": WAITS, "test_b": PASSES}, "-n", "0")
    assert "test_a.py::test_waits - Failed: Timeout (>1.0s)" in done.stdout
    assert ">       thread.join()" in done.stdout and "in heartbeat\n" in done.stdout
    assert "1 failed, 1 passed" in done.stdout.splitlines()[-1]


def test_what_no_exception_reaches_ends_with_all_stacks(tmp_path: Path) -> None:
    done = run(tmp_path, {"test_a": HOLDS_THE_LOCK}, "-n", "0")
    assert done.returncode == 1 and done.stderr.startswith("Timeout (0:00:02)!\n")
    assert "in deaf\n" in done.stderr and "in test_holds_the_lock\n" in done.stderr


@pytest.mark.slow
def test_a_worker_that_ends_is_replaced_and_its_test_named(tmp_path: Path) -> None:
    tests = {"test_a": HOLDS_THE_LOCK, "test_b": FAILS_AND_HANGS, "test_c": WAITS, "test_d": PASSES}
    done = run(tmp_path, tests, "-n", "1", "--dist", "worksteal")
    for name in ("test_a.py::test_holds_the_lock", "test_b.py::test_hangs_at_its_end"):
        assert f"crashed while running '{name}'" in done.stdout
    assert "in deaf\n" in done.stderr and "in unclosed\n" in done.stderr
    assert "in heartbeat\n" in done.stdout
    # What fails, and hangs when its fixtures are closed, is reported twice.
    assert "4 failed, 1 passed" in done.stdout.splitlines()[-1]


def test_slow_tests_have_a_longer_limit(tmp_path: Path) -> None:
    slow = "import pytest, time\n@pytest.mark.slow\ndef test_slow(): time.sleep(1.5)\n"
    assert run(tmp_path, {"test_a": slow}, "-n", "0").returncode == 0
