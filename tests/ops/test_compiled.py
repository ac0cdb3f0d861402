from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from nodewise.ops import compiled


def test_without_a_place_to_keep_it_code_is_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Numba refuses to cache where neither the package nor the user's cache can be written."""

    def njit(**options: bool) -> object:
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return numba.njit(**options)

    monkeypatch.setattr(compiled, "njit", njit)
    assert compiled.kernel(lambda x: x + 1)(2) == 3


def test_what_was_compiled_before_a_change_is_forgotten(tmp_path: Path) -> None:
    old, new = tmp_path / "old.nbi", tmp_path / "new.nbi"
    for index in (old, new):
        index.touch()
    os.utime(old, (0, 0))
    compiled.forget_outdated(tmp_path)
    assert [index.exists() for index in (old, new)] == [False, True]


ONE_STEP = """
import sys, time
import torch
import nodewise as nw
from nodewise.nn.penalty import Penalty
from nodewise.ops import dispatch
from nodewise.ops.fused import compact, dropout, edges, messages, messages_backward, squares, sums
from nodewise.ops.sparse import SparseRows
torch.set_num_threads(2)
torch.manual_seed(0)
x, edge_index = torch.rand(40, int(sys.argv[2])) < 0.1, torch.randint(0, 40, (2, 100))
model = getattr(nw, sys.argv[1])(x.size(1), int(sys.argv[3]), 3)
began = time.perf_counter()
dispatch.compile_ahead(model.convs[0].weight)
print(time.perf_counter() - began)

def missed():
    modules = (compact, dropout, edges, messages, messages_backward, squares, sums)
    kernels = [value for module in modules for value in vars(module).values()]
    stats = [kernel.stats for kernel in kernels if hasattr(kernel, "stats")]
    return sum(sum(one.cache_misses.values()) for one in stats)

before = missed()
out, modulations = model(SparseRows.from_dense(x.float()), edge_index, return_modulations=True)
(out.sum() + Penalty().of(model, modulations)).backward()
print(before, missed())
"""


def first_step(folder: Path, *args: str) -> tuple[float, int, int, bool]:
    """Seconds of compiling ahead, kernels by then and after a step, whether a line was printed."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", ONE_STEP, *args]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    seconds, before, after = map(float, ended.stdout.split())
    return seconds, int(before), int(after), "compiling CPU kernels" in ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("model", ["LGCN", "LGAT", "LGIN"])
def test_all_is_compiled_ahead_once_and_for_all_sizes(model: str, tmp_path: Path) -> None:
    """Within 25 seconds on two cores that do nothing else."""
    seconds, before, after, printed = first_step(tmp_path, model, "30", "8")
    assert seconds < 25 and before > 0 and printed
    assert after == before, "a kernel was compiled in the first step"
    for width, hidden in (("30", "8"), ("700", "19")):
        seconds, before, after, printed = first_step(tmp_path, model, width, hidden)
        assert (before, after, printed) == (0, 0, False) and seconds < 1


@pytest.mark.slow
def test_one_process_compiles_all_where_there_is_one_core(tmp_path: Path) -> None:
    program = ONE_STEP.replace("set_num_threads(2)", "set_num_threads(1)")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", program, "LGCN", "30", "8"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    _, before, after = map(float, ended.stdout.split())
    assert before == after >= 9
