from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest
import torch

from nodewise.ops.fused import threads


@pytest.fixture(params=[True, False])
def two_threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """OpenMP's, where it is there, and Python's."""
    if not request.param:
        monkeypatch.setattr(threads, "_openmp", None)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def kernel_that_fails(at: int) -> Any:
    def kernel(first: int, last: int, part: int, done: list[int]) -> None:
        if first <= at < last:
            raise ValueError(f"at {at}")
        done.extend(range(first, last))

    return kernel


@pytest.mark.parametrize("at", [0, 3])
@pytest.mark.usefixtures("two_threads")
def test_what_goes_wrong_on_any_thread_is_raised(at: int) -> None:
    done: list[int] = []
    with pytest.raises(ValueError, match=f"at {at}"):
        threads.run(kernel_that_fails(at), 4, 10**9, done)
    threads.run(kernel_that_fails(9), 4, 10**9, done)
    assert set(done) == {0, 1, 2, 3}


@pytest.mark.usefixtures("two_threads")
def test_ctrl_c_inside_of_a_kernel_is_not_lost() -> None:
    def kernel(first: int, last: int, part: int) -> None:
        if first == 0 < last:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(10**7):  # Python looks for signals between two lines
                pass

    with pytest.raises(KeyboardInterrupt):
        threads.run(kernel, 2, 10**9)


FORK = """
import os, signal, torch
import nodewise as nw

torch.set_num_threads(2)
x, edge_index = torch.rand(4000, 100), torch.randint(0, 4000, (2, 20000))
model = nw.LGCN(100, 8, 3, dropout=0.0)

def gradients():
    model.zero_grad()
    out = model(x, edge_index)
    out.sum().backward()
    return [out, *(weight.grad for weight in model.parameters())]

before = gradients()
child = os.fork()
if child == 0:
    signal.alarm(60)
    same = all(map(torch.equal, gradients(), before))
    os._exit(0 if same else 1)
assert os.waitpid(child, 0)[1] == 0
assert torch.get_num_threads() == 2 and all(map(torch.equal, gradients(), before))
"""


@pytest.mark.medium
def test_a_process_forked_after_use_computes_the_same() -> None:
    """OpenMP's threads are not there in the child, and waiting for them would never end."""
    command = [sys.executable, "-c", FORK]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stderr
