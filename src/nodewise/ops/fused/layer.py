"""What the message kernels are given, and what both directions need: columns, masks, scratch space.

Heads are cut into blocks of eight output rows, and blocks into tiles of one or four. A tile is
formed and used together, so that the walk along a neighbour's features is shared by four heads.

Inner functions take the arrays they use and not the whole `Layer`: to Numba a tuple of arrays is a
hundred arguments, and compilation time is what a user waits for first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodewise.ops.compiled import part
from nodewise.ops.dropconnect import HEAD_STRIDE, INPUT_STRIDE, LANE_STRIDE, LAST_SHIFT, MIX
from nodewise.ops.fused.generate import GROUP, generate
from nodewise.ops.fused.simd import keep

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]
TILE = 4
WORD = 0xFFFFFFFF


class Rows(NamedTuple):
    """Node features, row by row: CSR, or dense with `col` counting one row's columns."""

    crow: Ints
    col: Ints
    values: Floats
    width: int
    dense: bool


class Blocks(NamedTuple):
    """W in blocks of eight output rows, flat: (heads * per_head, width, 8), padded by zeros."""

    weight: Floats
    heads: int
    out: int
    per_head: int


class Generator(NamedTuple):
    """Makes scales (or shifts): code (N, heads, bottleneck), expand (heads, bottleneck, padded)."""

    code: Floats
    expand: Floats
    bottleneck: int
    padded: int


class Drop(NamedTuple):
    """DropConnect as the kernels take it; threshold 0 is none."""

    seed: int
    threshold: int
    grow: float


class Layer(NamedTuple):
    """Everything a pass needs; `source` and `ptr` are the edges, sorted by target."""

    rows: Rows
    blocks: Blocks
    scale: Generator
    shift: Generator
    slope: float
    source: Ints
    ptr: Ints
    drop: Drop


class Scratch(NamedTuple):
    """One thread's buffers.

    `scale` and `shift` hold the rows of four targets for each head of a tile, `grad_scale` and
    `grad_shift` their gradients, `local` one target's tile of W_v, `gathered` its gradient; `seen`
    and `counts` are the columns in use by four targets.
    """

    scale: Floats
    shift: Floats
    grad_scale: Floats
    grad_shift: Floats
    scale_code: Floats
    shift_code: Floats
    local: Floats
    gathered: Floats
    spare: Floats
    stamp: NDArray[np.int64]
    seen: NDArray[np.int32]
    counts: NDArray[np.int64]


def make_scratch(layer: Layer) -> Scratch:
    """Fresh buffers, all zero. Kernels leave `grad_*` and `gathered` zero, as they found them."""
    width, tile = layer.rows.width, min(TILE, layer.blocks.heads * layer.blocks.per_head)
    dtype, rows = layer.rows.values.dtype, tile * GROUP * layer.scale.padded
    codes, local = tile * GROUP * layer.scale.bottleneck, tile * 8 * width
    sizes = (rows, rows, rows, rows, codes, codes, local, local, 8 * TILE)
    return Scratch(
        *(np.zeros(size, dtype) for size in sizes),
        np.zeros(width, np.int64),
        np.zeros((GROUP, width + 1), np.int32),
        np.zeros(GROUP, np.int64),
    )


@part
def mix(bits):
    """The 32-bit hash of `nodewise.ops.dropconnect.mix`."""
    for shift, factor in MIX:
        bits = ((bits ^ (bits >> shift)) * factor) & WORD
    return bits ^ (bits >> LAST_SHIFT)


@part
def mask(drop, node_key, head, f, lane, like):
    """Ones and zeros for eight rows of W_v in column f, from row `lane` on."""
    head_key = mix((node_key + head * HEAD_STRIDE) & WORD)
    key = mix((head_key + f * INPUT_STRIDE) & WORD)
    return keep((key + lane * LANE_STRIDE) & WORD, drop.threshold, like)


@part
def row_bounds(rows, u):
    """Where row u's values begin and end, and what to take off a place to find its column."""
    if rows.dense:
        return u * rows.width, (u + 1) * rows.width, u * rows.width
    return np.int64(rows.crow[u]), np.int64(rows.crow[u + 1]), np.int64(0)


@part
def find_columns(group, rows, source, ptr, stamp, seen, counts):
    """The columns in which W_v is needed, for four targets: those its neighbours use.

    Where the neighbours hold as many values as there are columns, all columns are taken.
    """
    for i in range(min(GROUP, ptr.size - 1 - group * GROUP)):
        v = group * GROUP + i
        visits = 0
        for e in range(ptr[v], ptr[v + 1]):
            begin, end, _ = row_bounds(rows, source[e])
            visits += end - begin
        count = 0
        if visits >= rows.width:
            for f in range(rows.width):
                seen[i, f] = f
            count = rows.width
        else:
            for e in range(ptr[v], ptr[v + 1]):
                for j in range(rows.crow[source[e]], rows.crow[source[e] + 1]):
                    # Without a branch, which would be mispredicted every other time.
                    f = rows.col[j]
                    seen[i, count] = f
                    count += stamp[f] != v
                    stamp[f] = v
        counts[i] = count


@part
def place(heads, per_head, out, block, e):
    """Where a block's part of edge e's message begins, and how many of its eight lanes are real."""
    head, lane = block // per_head, 8 * (block % per_head)
    return (e * heads + head) * out + lane, min(8, out - lane)


@part
def tile_size(count, first):
    """How many blocks from `first` on go together: four, or one where no four are left."""
    return TILE if first + TILE <= count else 1


@part
def generate_tile(generator, heads, per_head, targets, group, first, tile, slope, code, rows):
    """Scales (or shifts) of four targets for every head of a tile; the sum of new squares.

    A head that spreads over tiles is generated again, but its squares count only once.
    """
    size = generator.bottleneck
    first_head, last_head = first // per_head, (first + tile - 1) // per_head
    squares = 0.0
    for head in range(first_head, last_head + 1):
        slot = (head - first_head) * GROUP
        own_code = code[slot * size : (slot + GROUP) * size]
        for i in range(GROUP):
            v = group * GROUP + i
            at = (v * heads + head) * size
            for k in range(size):
                own_code[i * size + k] = generator.code[at + k] if v < targets else 0
        start, padded = head * size * generator.padded, generator.padded
        own_rows = rows[slot * padded : (slot + GROUP) * padded]
        new = generate(generator.expand, start, own_code, size, padded, slope, own_rows)
        if head * per_head >= first:
            squares += new
    return squares
