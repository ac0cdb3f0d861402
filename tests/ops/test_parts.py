from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit, types

from nodewise.ops.compiled import inlined, part


def _three_times(x):  # type: ignore[no-untyped-def]
    return 3 * x


def _has_machine_code(function: Any) -> bool:
    """Whether what was compiled by itself, for no kernel, could be called at an address."""
    function.compile((types.float64,))
    (compiled,) = function.overloads.values()
    library = compiled.library
    return bool(library.codegen._engine.is_symbol_defined(compiled.fndesc.mangled_name))


@pytest.mark.parametrize("decorate", [part, inlined])
def test_no_machine_code_is_made_of_a_part_by_itself(decorate: Any) -> None:
    assert _has_machine_code(njit(_three_times))
    assert not _has_machine_code(decorate(_three_times))


def test_a_part_says_that_it_cannot_be_called_from_python() -> None:
    alone = part(_three_times)
    with pytest.raises((KeyError, TypeError)):
        alone(2.0)


PROGRAM = """
import numpy as np
from nodewise.ops.compiled import inlined, kernel, part

@part
def shared(x):
    return 3 * x

@inlined
def twice(x):
    return shared(x) + shared(x)

@kernel
def fill(first, last, out):
    for i in range(first, last):
        out[i] = twice(out[i]) + shared(1.0)

@kernel
def fill_whole(first, last, out):
    for i in range(first, last):
        out[i] = twice(out[i])

for dtype in (np.float32, np.float64, np.int64):
    out, whole = np.arange(4).astype(dtype), np.arange(4).astype(dtype)
    fill(1, 4, out)
    fill_whole(0, 3, whole)
    print(*out, *whole, fill.stats.cache_hits[fill.signatures[-1]])
"""


def test_kernels_share_parts_and_are_kept_on_disk_with_them(tmp_path: Path) -> None:
    """The second time a process takes kernels from the disk, where their parts must be inside."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    told = []
    for _ in range(2):
        command = [sys.executable, str(program)]
        ended = subprocess.run(command, capture_output=True, text=True, check=True)
        told.append([line.split() for line in ended.stdout.splitlines()])
    numbers = [[float(number) for number in line[:-1]] for line in told[0]]
    assert numbers == [[0, 9, 15, 21, 0, 6, 12, 3]] * 3
    assert [line[:-1] for line in told[0]] == [line[:-1] for line in told[1]]
    assert [line[-1] for line in told[1]] == ["1", "1", "1"]


def test_a_part_that_was_compiled_for_one_kernel_serves_another_that_is_made_later() -> None:
    shared = part(_three_times)
    out = np.ones(2)

    def once(out):  # type: ignore[no-untyped-def]
        out[0] = shared(out[0])

    def again(out):  # type: ignore[no-untyped-def]
        out[1] = shared(shared(out[1]))

    for function in (once, again):
        njit(function)(out)
    assert out.tolist() == [3, 9]
