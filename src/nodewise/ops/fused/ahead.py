"""Compile the kernels of a localized model before its first step, half in a second process.

Numba compiles a kernel when it is first called, one at a time: a process cannot compile two at
once. So a child process compiles the penalty and the sums while this one compiles the messages, and
both write to Numba's cache on disk. A stamp file beside the cache marks it as complete for
these sources and this machine: a later process loads all kernels and compiles none, and one that
starts meanwhile waits.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
from llvmlite import binding

from nodewise.ops.compiled import CHECKED, sources_changed
from nodewise.ops.fused import launch, messages
from nodewise.ops.kernel_files import are_kept, one_at_a_time

# What each of two processes compiles: about the same time.
_HERE = ("messages", "messages_backward")
_THERE = ("squares", "modulate_edges", "modulate_edges_backward", "sums", "dots", "dropout")


def _messages(number: Any) -> SimpleNamespace:
    """One edge from a sparse row of two entries."""
    places, two = np.array([0, 2], np.int32), np.arange(2, dtype=np.int32)
    code, expand = np.ones((1, 1, 1), number), np.ones((1, 2, 1), number)
    return SimpleNamespace(
        crow=places,
        col=two,
        values=np.ones(2, number),
        all_columns=False,
        weight=np.ones((1, 1, 2), number),
        scale_code=code,
        scale_expand=expand,
        shift_code=code,
        shift_expand=expand,
        source=np.zeros(1, np.int64),
        ptr=np.arange(2),
        seed=None,
        rate=0.0,
        slope=0.2,
        gradient=True,
    )


def _edges(number: Any) -> SimpleNamespace:
    """The same edge at the edge level."""
    names = ("z", "scale_target", "scale_source", "shift_target", "shift_source")
    rows = {name: np.ones((1, 1, 1), number) for name in names}
    runs = {"source": np.zeros(1, np.int64), "back_edge": np.zeros(1, np.int64)}
    return SimpleNamespace(
        **rows, **runs, ptr=np.arange(2), back_ptr=np.arange(2), slope=0.2, weight=None
    )


def _sums(number: Any, index: Any, *, of_weight: bool) -> None:
    """A sum over one run, and the gradient of its weight."""
    zero, ptr, one = np.zeros(1, index), np.arange(2, dtype=index), np.ones(1, number)
    given = {"x": np.ones((1, 1), number), "weight": one, "row": zero, "ptr": ptr}
    inputs = SimpleNamespace(**given)
    if of_weight:
        launch.sum_runs_backward(inputs, [np.ones((1, 1), number)], [None, one.copy()])
    else:
        launch.sum_runs(inputs, [np.empty((1, 1), number)])


def _examples(number: Any) -> dict[str, Callable[[], None]]:
    """The smallest call of each kernel, by name."""
    inputs, edges = _messages(number), _edges(number)

    def empty(*shape: int) -> Any:
        return np.empty(shape, number)

    def of_messages() -> list[Any]:
        fields = ("weight", "scale_code", "scale_expand", "shift_code", "shift_expand")
        return [None, *(np.empty_like(getattr(inputs, field)) for field in fields)]

    def both(function: Callable[..., None], **options: Any) -> None:
        function(number, np.int64, **options)
        function(number, np.int32, **options)

    halves = [empty(1, 1, 1) for _ in range(5)]
    ones = [np.ones((1, 1, 1), number), number(1), number(1)]
    squares = [empty(), empty(), empty(2, 1, 1, 1), empty(2, 1, 2, 1)]
    drop = SimpleNamespace(x=np.ones(1, number), seed=np.array(1), rate=0.5)
    return {
        "messages": lambda: launch.messages(inputs, [empty(1, 1, 1)]),
        "messages_backward": lambda: launch.messages_backward(inputs, [ones[0]], of_messages()),
        "squares": lambda: launch.squares(inputs, squares),
        "modulate_edges": lambda: launch.modulate_edges(edges, [empty(1, 1, 1), empty(), empty()]),
        "modulate_edges_backward": lambda: launch.modulate_edges_backward(edges, ones, halves),
        "sums": lambda: both(_sums, of_weight=False),
        "dots": lambda: both(_sums, of_weight=True),
        "dropout": lambda: launch.dropout(drop, [empty(1)]),
        "compact": lambda: _compact(inputs),
    }


def _compact(inputs: SimpleNamespace) -> None:
    launch.compact(inputs.crow, inputs.col, inputs.values)


def _stamp(dtype: str) -> Path | None:
    """The file that marks everything as compiled; None where nothing can be cached."""
    cache = messages.forward.stats.cache_path
    if CHECKED or cache is None:
        return None
    versions = (numba.__version__, np.__version__, sys.version, sources_changed())
    machine = (binding.get_host_cpu_name(), dtype)
    key = sha256(repr((*versions, *machine)).encode()).hexdigest()[:16]
    return Path(cache) / f"nodewise-{key}.compiled"


@cache
def compile_ahead(dtype: str, processes: int) -> None:
    """Compile all kernels for float32 or float64, unless that was done before.

    Args:
        dtype: "float32" or "float64".
        processes: How many processes may compile, one or two.
    """
    stamp = _stamp(dtype)
    if stamp is None:
        _compile_all(dtype, parallel=False)
        return
    with one_at_a_time(stamp.with_suffix(".lock")):
        if not stamp.exists():
            _compile_all(dtype, parallel=processes > 1)
            if are_kept():  # not on a full disk: the next process will look again
                with suppress(OSError):
                    stamp.touch()


def _compile_all(dtype: str, *, parallel: bool) -> None:
    child = _start_child(dtype) if parallel else None
    try:
        names = (*_HERE, "compact") if parallel else (*_HERE, *_THERE, "compact")
        _compile(dtype, names, _report)
        if parallel and (child is None or child.wait() != 0):
            _compile(dtype, _THERE)  # it was killed, or could not start
    finally:
        _end(child)
    if sys.stderr.isatty():
        print("", file=sys.stderr)


def _start_child(dtype: str) -> subprocess.Popen[bytes] | None:
    package = Path(__file__).parents[3]
    path = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", __name__, dtype, *_THERE]
    try:
        return subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
        )
    except OSError:
        return None


def _end(child: subprocess.Popen[bytes] | None) -> None:
    if child is not None and child.poll() is None:
        child.kill()
        child.wait()


def _report(done: int, count: int) -> None:
    """One line that counts, on a terminal; elsewhere without numbers."""
    line = "nodewise: compiling CPU kernels for this machine, once; takes about 20 seconds"
    if sys.stderr.isatty():
        print(f"\r{line} ({done} of {count})", end="", file=sys.stderr, flush=True)
    elif done == 0:
        print(line, file=sys.stderr, flush=True)


def _compile(
    dtype: str, names: tuple[str, ...], report: Callable[[int, int], None] = lambda *_: None
) -> None:
    examples = _examples(getattr(np, dtype))
    for done, name in enumerate(names):
        report(done, len(names))
        examples[name]()


if __name__ == "__main__":
    _compile(sys.argv[1], tuple(sys.argv[2:]))
    sys.exit(not are_kept())  # what is not on disk is compiled by the parent, too
