"""Two kernels that do nothing but reach the machine's limits."""

from __future__ import annotations

from nodewise.ops.compiled import kernel
from nodewise.ops.fused.simd import add, fma, full, load, store, views


@kernel
def fma_peak(first, last, part, count, out):
    """Eight independent chains of multiply-adds, `count` long, for each row of `out`."""
    for row in range(first, last):
        m = full(out[row, 0])
        a = b = c = d = e = f = g = h = m
        for _ in range(count):
            a, b, c, d = fma(m, a, m), fma(m, b, m), fma(m, c, m), fma(m, d, m)
            e, f, g, h = fma(m, e, m), fma(m, f, m), fma(m, g, m), fma(m, h, m)
        store(views(out[row]), 0, add(add(add(a, b), add(c, d)), add(add(e, f), add(g, h))))


@kernel
def copy_peak(first, last, part, source, target):
    """Copy rows, eight lanes at a time."""
    for row in range(first, last):
        given, copied = views((source[row], target[row]))
        for i in range(0, source.shape[1], 8):
            store(copied, i, load(given, i))
