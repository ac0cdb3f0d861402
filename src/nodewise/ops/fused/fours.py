"""Four vectors of lanes together: one number or vector is used on all four while it is at hand."""

from __future__ import annotations

from nodewise.ops.compiled import inlined
from nodewise.ops.fused.simd import add, fma, full, get, load, store


@inlined
def load_four(array, at, step):
    """Four vectors of a flat array, `step` elements apart."""
    return (
        load(array, at),
        load(array, at + step),
        load(array, at + 2 * step),
        load(array, at + 3 * step),
    )


@inlined
def store_four(array, at, step, four):
    """Write four vectors to a flat array, `step` elements apart."""
    store(array, at, four[0])
    store(array, at + step, four[1])
    store(array, at + 2 * step, four[2])
    store(array, at + 3 * step, four[3])


@inlined
def spread(array, at):
    """Four numbers of a flat array, each in all lanes of a vector."""
    return (
        full(get(array, at)),
        full(get(array, at + 1)),
        full(get(array, at + 2)),
        full(get(array, at + 3)),
    )


@inlined
def fma_four(x, four, sums):
    """x * four + sums."""
    return (
        fma(x, four[0], sums[0]),
        fma(x, four[1], sums[1]),
        fma(x, four[2], sums[2]),
        fma(x, four[3], sums[3]),
    )


@inlined
def add_four(x, four):
    """x + four."""
    return add(x, four[0]), add(x, four[1]), add(x, four[2]), add(x, four[3])
