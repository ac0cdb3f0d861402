"""The constants of dropout's hash: `dropconnect` computes it in torch, `fused` in its kernels."""

from __future__ import annotations

# "lowbias32" (C. Wellons, 2018): (shift, factor) rounds and a last shift, bias below 0.2 bits.
MIX = ((16, 0x7FEB352D), (15, 0x846CA68B))
LAST_SHIFT = 16
# Steps between neighboring lanes, inputs, heads and nodes: odd, far apart, no small multiples.
LANE_STRIDE = 0x9E3779B9
INPUT_STRIDE = 0x85EBCA6B
HEAD_STRIDE = 0xC2B2AE35
NODE_STRIDE = 0x27D4EB2F
WORD = 0xFFFFFFFF
