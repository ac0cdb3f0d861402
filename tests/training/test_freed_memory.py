from __future__ import annotations

import subprocess
import sys

import pytest

from nodewise.training import freed_memory

# How many pages the system had to find for sixteen tensors of 40 MB, one after the other.
STEPS = """
import resource, sys
import torch
from nodewise.training.freed_memory import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
for _ in range(32):  # until there is room for one more beside what is too small by some bytes
    torch.ones(10_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(16):
    torch.ones(10_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def pages(what: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", STEPS, what], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.medium
@pytest.mark.skipif(sys.platform != "linux", reason="sets options of GNU's malloc")
def test_what_is_freed_is_used_again() -> None:
    left_alone = pages("leave")
    if left_alone < 1000:
        pytest.skip(f"this C library keeps it anyway: {left_alone} pages")
    assert pages("keep") < left_alone / 20


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(freed_memory.ctypes, "CDLL", lambda name: asked.append(name))
    freed_memory.keep_freed_memory()
    assert asked == [None]
