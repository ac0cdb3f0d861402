"""Compilation of kernels: without the interpreter's lock, and once per machine.

Only public options of Numba are used. `inlined` functions are for inner loops; a `device`
function is called once for a target or a panel, and compiles once for all its callers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from time import time
from typing import Any

from numba import njit, typeof
from numba.core.errors import NumbaError

from nodewise.ops.kernel_files import KernelFiles, report, report_not_kept

# Every access inside a kernel is compared with its array's size; nothing is cached on disk then.
CHECKED = os.environ.get("NODEWISE_CHECKED", "") not in ("", "0")


class Kernel:
    """A compiled function; for each combination of types it is loaded or compiled at the first use.

    Numba does that in the middle of a call, and trusts its files. Here its dispatcher may call only
    what it has, and refuses other types with a TypeError before anything runs: that costs nothing,
    and leaves the time to look at the files first.

    Args:
        function: What to compile.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self._lock, self._is_ready = function, Lock(), False
        try:
            self._dispatcher = njit(nogil=True, cache=True)(function)
        except RuntimeError:  # neither the package's folder nor the user's cache can be written
            self._dispatcher = njit(nogil=True)(function)
        folder = self.stats.cache_path
        self._files = None if folder is None else KernelFiles(function, Path(folder))
        if folder is not None:
            forget_outdated(Path(folder))

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        if self._is_ready:
            try:
                return self._dispatcher(*args)
            except TypeError:  # other types than before
                pass
        self._prepare(tuple(typeof(arg) for arg in args))  # type: ignore[no-untyped-call]  # as Numba has it
        return self._dispatcher(*args)

    @property
    def stats(self) -> Any:
        """Numba's counts of what it loaded and compiled, and the folder of its files."""
        return self._dispatcher.stats

    def _prepare(self, types: tuple[Any, ...]) -> None:
        with self._lock:
            self._dispatcher.disable_compile(False)
            try:
                self._load_or_compile(types)
            finally:
                self._is_ready = bool(self._dispatcher.signatures)
                self._dispatcher.disable_compile(self._is_ready)

    def _load_or_compile(self, types: tuple[Any, ...]) -> None:
        if self._files is None:
            way_out = "; name one that can be written in NUMBA_CACHE_DIR"
            report_not_kept("no folder can keep compiled kernels", way_out)
            self._dispatcher.compile(types)
            return
        with self._files.locked():
            usable = self._files.are_sound() or self._start_anew(self._files)
            for _ in range(2):
                if usable and self._is_compiled(types, self._files):
                    return
                usable = usable and self._start_anew(self._files)
        self._dispatcher = njit(nogil=True)(self._function)
        self._dispatcher.compile(types)

    def _start_anew(self, files: KernelFiles) -> bool:
        """Remove the files; whether none is left."""
        folder = files.folder
        report(f"compiled kernels in {folder} are damaged or incomplete; compiling them again")
        return files.remove()

    def _is_compiled(self, types: tuple[Any, ...], files: KernelFiles) -> bool:
        """Load or compile the function; whether that was possible with these files."""
        before = sum(self.stats.cache_misses.values())
        try:
            self._dispatcher.compile(types)
        except (NumbaError, MemoryError):
            raise  # the files are not to blame
        except Exception as error:  # a file that cannot be read, understood or written
            if types in self._dispatcher.signatures:
                report_not_kept(f"compiled kernels cannot be kept ({error})")
                files.remove()
        else:
            if sum(self.stats.cache_misses.values()) > before:
                files.seal()
        # Other types, if two older processes have used one file for both.
        return types in self._dispatcher.signatures


def kernel(function: Callable[..., Any]) -> Any:
    """Compile at the first call; cached on disk unless no folder is writable."""
    return njit(nogil=True, boundscheck=True)(function) if CHECKED else Kernel(function)


@cache
def forget_outdated(kept: Path) -> None:
    """Remove cached code that is older than the last change of any file here.

    Numba compares the kernel's file only, and not those its device functions come from.
    """
    changed = sources_changed()
    for index in kept.glob("*.nbi"):
        with suppress(OSError):  # another process was faster, or the folder is read-only
            if index.stat().st_mtime < min(changed, time()):
                index.unlink()


@cache
def sources_changed() -> float:
    """The time of the last change of a kernel's source file, in seconds since 1970."""
    changed = 0.0
    for path in Path(__file__).parent.rglob("*.py"):
        with suppress(OSError):  # an editor's lock, perhaps
            changed = max(changed, path.stat().st_mtime)
    return changed


def device(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call."""
    return njit(boundscheck=CHECKED)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """The same for functions in inner loops, which LLVM inlines."""
    return njit(forceinline=True, boundscheck=CHECKED)(function)
