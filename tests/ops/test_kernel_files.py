"""Damaged, unwritable and contested files of compiled kernels cost time, and nothing else."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core import caching

from nodewise.ops import kernel_files
from nodewise.ops.compiled import CHECKED, Kernel

pytestmark = pytest.mark.skipif(CHECKED, reason="checked kernels are not cached")

SOURCE = """
from nodewise.ops.compiled import kernel

@kernel
def double(x):
    return 2 * x[0]
"""


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Kernel]:
    """The kernel as a new process would find it, with files in a folder of the test."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path / "cache"))
    source = tmp_path / "doubling.py"
    source.write_text(SOURCE)

    def import_again() -> Kernel:
        for said in ("_reported", "_reasons"):
            monkeypatch.setattr(kernel_files, said, set())
        spec = spec_from_file_location("doubling", source)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "doubling", module)
        spec.loader.exec_module(module)
        return module.double  # type: ignore[no-any-return]

    return import_again


ONE = np.ones(1)


def files_of(kernel: Kernel) -> dict[str, Path]:
    folder = Path(kernel.stats.cache_path)
    return {path.suffix: path for path in folder.iterdir()}


def loads_and_compilations(kernel: Kernel) -> tuple[int, int]:
    return sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values())


def test_a_kernel_is_compiled_once_and_sealed(load: Callable[[], Kernel], capfd: Any) -> None:
    first = load()
    assert first(ONE) == 2 and loads_and_compilations(first) == (0, 1)
    assert {".nbi", ".nbc", ".sha256"} <= files_of(first).keys()
    again = load()
    assert again(ONE) == 2 and loads_and_compilations(again) == (1, 0)
    assert capfd.readouterr().err == ""


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def with_a_flipped_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [truncated, emptied, with_a_flipped_bit, Path.unlink])
@pytest.mark.parametrize("suffix", [".nbi", ".nbc", ".sha256"])
def test_damaged_files_are_compiled_again(
    suffix: str, damage: Callable[[Path], None], load: Callable[[], Kernel], capfd: Any
) -> None:
    first = load()
    first(ONE)
    damage(files_of(first)[suffix])
    second = load()
    assert second(ONE) == 2 and loads_and_compilations(second) == (0, 1)
    told = capfd.readouterr().err
    assert told.count("\n") == told.count("damaged or incomplete; compiling them again")
    assert told or (suffix, damage) == (".nbi", Path.unlink)  # as if it were never compiled
    third = load()
    assert third(ONE) == 2 and loads_and_compilations(third) == (1, 0)


def test_types_that_follow_are_sealed_too(load: Callable[[], Kernel]) -> None:
    first = load()
    assert first(ONE) == 2 and first(ONE.astype(np.int32)) == 2
    again = load()
    assert again(ONE.astype(np.int32)) == 2 and again(ONE) == 2
    assert loads_and_compilations(again) == (2, 0)


def no_space(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_on_a_full_disk_each_process_compiles_its_own(
    load: Callable[[], Kernel], monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    kernel = load()
    with monkeypatch.context() as full:
        full.setattr(caching.IndexDataCacheFile, "_open_for_write", no_space)
        full.setattr(kernel_files, "replacing", no_space)
        assert kernel(ONE) == 2 and kernel(ONE.astype(np.int32)) == 2
    told = capfd.readouterr().err
    assert told.count("\n") == 1 and "No space left on device" in told and "each process" in told
    assert not kernel_files.are_kept()


def test_damaged_files_that_cannot_be_removed_are_not_loaded(
    load: Callable[[], Kernel], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load()
    first(ONE)
    with_a_flipped_bit(files_of(first)[".nbc"])
    second = load()
    with monkeypatch.context() as read_only:
        read_only.setattr(Path, "unlink", no_space)
        assert second(ONE) == 2
    assert second.stats.cache_path is None


def test_an_index_that_cannot_be_read_is_replaced(load: Callable[[], Kernel]) -> None:
    first = load()
    first(ONE)
    index = files_of(first)[".nbi"]
    index.unlink()
    index.mkdir()
    second = load()
    assert second(ONE) == 2


def test_without_any_folder_it_says_so_once(
    load: Callable[[], Kernel], monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.setattr(caching._CacheLocator, "ensure_cache_path", no_space)
    kernel = load()
    assert kernel(ONE) == 2 and kernel(ONE.astype(np.int32)) == 2
    told = capfd.readouterr().err
    assert told.count("\n") == 1 and "NUMBA_CACHE_DIR" in told


RACE = """
import sys, time
from pathlib import Path
import numpy as np
from numba.core import caching

def save_late(self, overloads, save=caching.IndexDataCacheFile._save_index):
    time.sleep(1)
    save(self, overloads)

caching.IndexDataCacheFile._save_index = save_late
sys.path.insert(0, sys.argv[1])
from doubling import double
ready = Path(sys.argv[1], f"ready-{sys.argv[2]}")
ready.touch()
while len(list(ready.parent.glob("ready-*"))) < 2:
    time.sleep(0.001)
assert double(np.ones(1, sys.argv[2])) == 2
"""


@pytest.mark.medium
def test_two_processes_that_compile_two_signatures_leave_both(
    load: Callable[[], Kernel], tmp_path: Path
) -> None:
    """Numba alone gives both the same file, if one looks for a name before the other has its own.

    The time between is short, so it is made longer.
    """
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    load()
    racers = [
        subprocess.Popen([sys.executable, "-c", RACE, str(tmp_path), dtype], env=environment)
        for dtype in ("float64", "int32")
    ]
    assert [racer.wait(120) for racer in racers] == [0, 0]
    kernel = load()
    assert kernel(ONE) == 2 and kernel(ONE.astype(np.int32)) == 2
    assert loads_and_compilations(kernel) == (2, 0)


def test_code_that_was_filed_under_other_types_is_not_called(
    load: Callable[[], Kernel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What that race left behind before kernels had a lock."""
    first = load()
    first(ONE), first(ONE.astype(np.int32))
    data = sorted(Path(first.stats.cache_path).glob("*.nbc"))
    data[1].write_bytes(data[0].read_bytes())
    first._files.seal()  # type: ignore[union-attr]
    again = load()
    assert again(ONE) == 2 and again(np.full(1, 5, np.int32)) == 10
