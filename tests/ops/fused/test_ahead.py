"""What is compiled before a first step, and by which process; the slow tests measure how long."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from nodewise.ops import kernel_files
from nodewise.ops.fused import ahead


class Child:
    """A process that ends with a given code."""

    def __init__(self, code: int) -> None:
        self.code = code

    def wait(self) -> int:
        return self.code

    def poll(self) -> int:
        return self.code


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[tuple[str, ...]]]:
    """What this process compiles, call by call, with a stamp in a folder of the test."""
    calls: list[tuple[str, ...]] = []
    monkeypatch.setattr(ahead, "_compile", lambda dtype, names, *_: calls.append(names))
    monkeypatch.setattr(ahead, "_stamp", lambda dtype: tmp_path / f"{dtype}.compiled")
    monkeypatch.setattr(kernel_files, "_reasons", set())
    ahead.compile_ahead.cache_clear()
    yield calls
    ahead.compile_ahead.cache_clear()


EVERYTHING = {*ahead._HERE, *ahead._THERE, "compact"}


def test_two_processes_share_the_work_once(
    compiled: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def start(dtype: str) -> Any:
        started.append(dtype)
        return Child(0)

    monkeypatch.setattr(ahead, "_start_child", start)
    ahead.compile_ahead("float32", 2)
    assert started == ["float32"] and {*compiled[0], *ahead._THERE} == EVERYTHING
    ahead.compile_ahead.cache_clear()  # as in another process
    ahead.compile_ahead("float32", 2)
    assert len(compiled) == len(started) == 1
    ahead.compile_ahead("float64", 2)
    assert len(compiled) == len(started) == 2


@pytest.mark.parametrize("child", [Child(-9), Child(1), None])
def test_what_a_child_did_not_compile_is_compiled_here(
    child: Child | None, compiled: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "_start_child", lambda dtype: child)
    ahead.compile_ahead("float32", 2)
    assert {name for names in compiled for name in names} == EVERYTHING


def test_one_process_compiles_all(compiled: list[tuple[str, ...]]) -> None:
    ahead.compile_ahead("float32", 1)
    assert set(compiled[0]) == EVERYTHING


def test_examples_are_those_of_all_kernels() -> None:
    import numpy as np

    assert set(ahead._examples(np.float32)) == EVERYTHING


def test_a_second_process_waits_for_the_first(
    compiled: list[tuple[str, ...]], tmp_path: Path
) -> None:
    with ThreadPoolExecutor() as second:
        with FileLock(tmp_path / "float32.lock"):
            waiting = second.submit(ahead.compile_ahead, "float32", 1)
            with pytest.raises(TimeoutError):
                waiting.result(0.2)
            (tmp_path / "float32.compiled").touch()  # the first has done its work
        waiting.result(60)
    assert compiled == []
