"""Bad inputs whose features end right before a page that may not be touched.

Where a check is missing, the process dies with a segmentation fault; so this runs in a child.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, mmap, sys
import torch
import nodewise as nw
from nodewise.errors import InputError
from tests.ops.bad_inputs import CLASSES, KERNELS, MODELS, WIDTH, good_edges, good_rows, table

PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
kept = []

def guarded(tensor):
    '''A copy whose last number is followed by a page without access.'''
    size = tensor.numel() * tensor.element_size()
    pages = -(-size // PAGE) + 2
    room = mmap.mmap(-1, pages * PAGE)
    kept.append(room)
    start = ctypes.addressof(ctypes.c_char.from_buffer(room))
    for page in (0, pages - 1):
        assert libc.mprotect(ctypes.c_void_p(start + page * PAGE), PAGE, 0) == 0
    first = (pages - 1) * PAGE - size
    flat = torch.frombuffer(room, dtype=tensor.dtype, count=tensor.numel(), offset=first)
    return flat.view(tensor.shape).copy_(tensor)

def behind_guards(x):
    if x.layout == torch.sparse_csr:
        parts = map(guarded, (x.crow_indices(), x.col_indices(), x.values()))
        return torch.sparse_csr_tensor(*parts, x.shape, check_invariants=False)
    return guarded(x)

for name in MODELS:  # what is right passes, forward and backward
    for x in (good_rows(), good_rows().to_sparse_csr()):
        model = getattr(nw, name)(WIDTH, 8, CLASSES)
        model(behind_guards(x), guarded(good_edges())).sum().backward()
refused = 0
for bad in table():
    for name in MODELS:
        model = getattr(nw, name)(WIDTH, 8, CLASSES)
        for kernel in KERNELS:
            try:
                with nw.use_kernel(kernel):
                    model(behind_guards(bad.x), guarded(bad.edge_index))
                sys.exit(f"accepted: {bad}, {name}, {kernel}")
            except InputError:
                refused += 1
print("refused", refused)
"""


@pytest.mark.medium
@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="mprotect is called by its Linux name"
)
def test_nothing_behind_the_features_is_touched() -> None:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, (ended.returncode, ended.stderr[-2000:])
    assert int(ended.stdout.split()[1]) > 300
