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

from nodewise.ops.compiled import inlined, part
from nodewise.ops.dropconnect import HEAD_STRIDE, INPUT_STRIDE, LANE_STRIDE, LAST_SHIFT, MIX
from nodewise.ops.fused.generate import generate, generate_all
from nodewise.ops.fused.simd import get, keep, prefetch

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]
TILE = 4
# Twice eight vectors: what sums over lanes are taken from.
SPARE = 128
# Numbers of 32 bits in a line of the cache.
LINE = 16
WORD = 0xFFFFFFFF


class Rows(NamedTuple):
    """Node features, row by row: CSR, or dense with `col` counting one row's columns."""

    crow: Ints
    col: Ints
    values: Floats
    width: int
    dense: bool


class Columns(NamedTuple):
    """In which columns W_v is needed: v's are `seen[ptr[v]]` to `seen[ptr[v + 1]]`.

    Where `ptr` has one entry only, `seen` is all columns, the same for everybody.
    """

    ptr: Ints
    seen: Ints


class Blocks(NamedTuple):
    """W in blocks of eight output rows, flat: (heads * per_head, width, 8), padded by zeros."""

    weight: Floats
    heads: int
    out: int
    per_head: int


class Generator(NamedTuple):
    """Makes scales (or shifts): code (N, heads, size), expand (heads, width, size), see there.

    `columns_last` is expand once more, as (heads, size, width), padded, where all columns are in
    use; else it is empty.
    """

    code: Floats
    expand: Floats
    columns_last: Floats
    size: int


class Drop(NamedTuple):
    """DropConnect as the kernels take it; threshold 0 is none."""

    seed: int
    threshold: int
    grow: float


class Layer(NamedTuple):
    """Everything a pass needs; `source` and `ptr` are the edges, sorted by target."""

    rows: Rows
    columns: Columns
    blocks: Blocks
    scale: Generator
    shift: Generator
    slope: float
    source: Ints
    ptr: Ints
    drop: Drop


class Scratch(NamedTuple):
    """One thread's buffers, for one target at a time.

    `scale` and `shift` hold its rows for each head of a tile, `grad_scale` and `grad_shift` their
    gradients, all of length `padded`; `local` a tile of W_v, `gathered` its gradient. All these
    have only the columns in use, whose numbers are in `seen`, the first of them repeated until they
    are a multiple of eight; `slot` says where in that list a column is.
    """

    scale: Floats
    shift: Floats
    grad_scale: Floats
    grad_shift: Floats
    local: Floats
    gathered: Floats
    spare: Floats
    seen: NDArray[np.int32]
    slot: NDArray[np.int32]
    padded: int


def make_scratch(layer: Layer) -> Scratch:
    """Fresh buffers, all zero. Kernels leave `grad_*` and `gathered` zero, as they found them."""
    width, tile = layer.rows.width, min(TILE, layer.blocks.heads * layer.blocks.per_head)
    padded = padded_width(width)
    sizes = (*[tile * padded] * 4, tile * 8 * padded, tile * 8 * padded, SPARE)
    buffers = (aligned(size, layer.rows.values.dtype) for size in sizes)
    return Scratch(*buffers, np.zeros(padded, np.int32), np.zeros(width, np.int32), padded)


def padded_width(width: int) -> int:
    """The length of rows that are made sixteen columns at a time."""
    return width + -width % 16


def aligned(size: int, dtype: np.dtype[np.floating]) -> Floats:
    """Zeros that begin with a line of the cache: eight lanes that lie in two lines take longer."""
    room = np.zeros(size + 64 // dtype.itemsize, dtype)
    first = -room.ctypes.data % 64 // dtype.itemsize
    return room[first : first + size]


@inlined
def mix(bits):
    """The 32-bit hash of `nodewise.ops.dropconnect.mix`."""
    for shift, factor in MIX:
        bits = ((bits ^ (bits >> shift)) * factor) & WORD
    return bits ^ (bits >> LAST_SHIFT)


@inlined
def mask(drop, node_key, head, f, lane, like):
    """Ones and zeros for eight rows of W_v in column f, from row `lane` on."""
    head_key = mix((node_key + head * HEAD_STRIDE) & WORD)
    key = mix((head_key + f * INPUT_STRIDE) & WORD)
    return keep((key + lane * LANE_STRIDE) & WORD, drop.threshold, like)


@inlined
def row_bounds(rows, u):
    """Where row u's values begin and end, and what to take off a place to find its column."""
    if rows.dense:
        return u * rows.width, (u + 1) * rows.width, u * rows.width
    return np.int64(rows.crow[u]), np.int64(rows.crow[u + 1]), np.int64(0)


@inlined
def ask_for_row(rows, source, edge):
    """Have the memory bring the row that this edge comes from, which is needed next."""
    if edge < source.size:
        begin, end, _ = row_bounds(rows, source[edge])
        for j in range(begin, end, LINE):
            prefetch(rows.values, j)
            if not rows.dense:
                prefetch(rows.col, j)


@inlined
def four_rows(rows, source, edge, last):
    """Where the dense rows begin that four edges come from; beyond `last`, its own once more.

    Whoever calls asks for the next rows himself: asked for here, they do not come sooner.
    """
    width = rows.width
    return (
        source[edge] * width,
        source[min(edge + 1, last)] * width,
        source[min(edge + 2, last)] * width,
        source[min(edge + 3, last)] * width,
    )


@part
def take_columns(columns, v, seen, slot):
    """Lay out the columns that target v uses; returns how many."""
    everybody = columns.ptr.size == 1
    begin = 0 if everybody else np.int64(columns.ptr[v])
    count = columns.seen.size if everybody else columns.ptr[v + 1] - begin
    for c in range(count):
        f = get(columns.seen, begin + c)
        seen[c] = f
        slot[f] = c
    for c in range(count, count + -count % 8):
        seen[c] = seen[0]
    return count


@inlined
def place(heads, per_head, out, block, e):
    """Where a block's part of edge e's message begins, and how many of its eight lanes are real."""
    head, lane = block // per_head, 8 * (block % per_head)
    return (e * heads + head) * out + lane, min(8, out - lane)


def count_tiles(blocks: int) -> int:
    """Into how many tiles so many blocks are cut: by fours, and one by one what is left."""
    return blocks // TILE + blocks % TILE


@inlined
def tile_bounds(blocks, number):
    """The first block of a tile, and how many it has."""
    fours = blocks // TILE
    return (TILE * number, TILE) if number < fours else (TILE * fours + number - fours, 1)


@part
def generate_tile(generator, heads, per_head, width, v, first, tile, slope, seen, count, spare, to):
    """Scales (or shifts) of target v for every head of a tile, `to` being rows and their length."""
    rows, padded = to
    first_head, last_head = first // per_head, (first + tile - 1) // per_head
    for head in range(first_head, last_head + 1):
        at, start = (v * heads + head) * generator.size, head * width * generator.size
        row, size = (head - first_head) * padded, generator.size
        if generator.columns_last.size > 0:
            given = (generator.code, at, generator.columns_last, head * size * padded, size, padded)
            generate_all(*given, slope, rows, row)
        else:
            given = (generator.code, at, generator.expand, start, size, slope, seen, count)
            generate(*given, spare, rows, row)
