"""Dropout of a tensor's entries by the hash of `nodewise.ops.dropconnect.keep_entries`."""

from __future__ import annotations

from nodewise.ops.compiled import kernel
from nodewise.ops.dropconnect import INPUT_STRIDE, LANE_STRIDE
from nodewise.ops.fused.layer import WORD, mix
from nodewise.ops.fused.simd import full, keep, load, mul, store


@kernel
def dropout(first, last, part, chunks, x, seed, threshold, grow, out):
    """out = x * grow where the hash says so, else zero; `x` and `out` are flat."""
    eights, word = x.size // 8, mix(seed & WORD)
    for block in range(first * eights // chunks, last * eights // chunks):
        key = mix((word + block * INPUT_STRIDE) & WORD)
        lanes = mul(load(x, 8 * block), full(grow))
        store(out, 8 * block, mul(lanes, keep(key, threshold, lanes)))
    if last == chunks:
        key = mix((word + eights * INPUT_STRIDE) & WORD)
        for i in range(8 * eights, x.size):
            kept = mix((key + i % 8 * LANE_STRIDE) & WORD) >= threshold
            out[i] = x[i] * grow if kept else 0
