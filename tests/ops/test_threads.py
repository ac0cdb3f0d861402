from __future__ import annotations

import os
import signal
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
