from __future__ import annotations

import os
import resource
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
from nodewise.ops.rows import SparseRows
torch.set_num_threads(1)
torch.manual_seed(0)
x, edge_index = torch.rand(40, int(sys.argv[2])) < 0.1, torch.randint(0, 40, (2, 100))
dropout = {"weight_dropout": 0.4} if sys.argv[1] == "LGCN" else {}
model = getattr(nw, sys.argv[1])(x.size(1), int(sys.argv[3]), 3, **dropout)
began = time.process_time()
out, made = model(SparseRows.from_dense(x.float()), edge_index, return_modulations=True)
(out.sum() + sum(Penalty()(model.global_parameters(), model.local_parameters(), made))).backward()
print(time.process_time() - began)
"""


@pytest.mark.slow
@pytest.mark.parametrize("model", ["LGCN", "LGAT"])
def test_a_step_compiles_within_twenty_seconds_once_and_for_all_widths(
    model: str, tmp_path: Path
) -> None:
    """Processor time: what else the machine does is not counted, though it may slow this down."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    taken, said = [], []
    for width, hidden in ((30, 8), (30, 8), (700, 19)):
        command = [sys.executable, "-c", ONE_STEP, model, str(width), str(hidden)]
        ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        taken.append(float(ended.stdout))
        said.append("compiling CPU kernels" in ended.stderr)
    assert taken[0] < 20 and max(taken[1:]) < 3, taken
    assert said == [True, False, False]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["LGCN", "LGAT", "LGIN"])
def test_what_a_training_run_needs_compiles_within_twenty_seconds(
    model: str, tmp_path: Path
) -> None:
    """The first of two runs compiles, with all that training, validating and recording takes."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    taken = []
    for run in ("first", "second"):
        short = ["--set", "epochs=2", "--set", "start_record_epoch=0", "--out", str(tmp_path / run)]
        options = ["--model", model, "--recipe", "official", "--quiet", *short]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "nodewise", "train", "toy", *options]
        subprocess.run(command, capture_output=True, check=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    compiling = taken[0] - taken[1]
    assert 3 < compiling < 20, taken
