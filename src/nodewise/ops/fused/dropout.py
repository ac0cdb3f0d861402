"""Dropout of a tensor's entries by the hash of `nodewise.ops.dropconnect.keep_entries`.

out = x * grow where the hash of (seed, place) is at least the threshold, else zero; flat arrays.
Speed is bound by arithmetic, the hash.
"""

from __future__ import annotations

from nodewise.ops.compiled import kernel
from nodewise.ops.fused.simd import full, get, keep_mask, load, mix, mul, put, size, store, views
from nodewise.ops.hashing import INPUT_STRIDE, LANE_STRIDE, WORD


@kernel
def dropout(begin, end, part, chunks, x, seed, threshold, grow, out):
    """Fill `out`; eight neighbors share a word that is hashed once more for each of them."""
    x, out = views((x, out))
    eights, word = size(x) // 8, mix(seed & WORD)
    for block in range(begin * eights // chunks, end * eights // chunks):
        key = mix((word + block * INPUT_STRIDE) & WORD)
        lanes = mul(load(x, 8 * block), full(grow))
        store(out, 8 * block, mul(lanes, keep_mask(key, threshold, lanes)))
    if end == chunks:
        key = mix((word + eights * INPUT_STRIDE) & WORD)
        for i in range(8 * eights, size(x)):
            kept = mix((key + i % 8 * LANE_STRIDE) & WORD) >= threshold
            put(out, i, get(x, i) * grow if kept else grow - grow)
