"""Arguments of the message kernels: features, active columns, blocks of W, generators, scratch.

W is cut into blocks of eight output rows of one head, and blocks into tiles of one or four. A tile
is formed and used together, so that the walk along a neighbor's features is shared by four blocks.
A column is active for target v if a member of C_v has a non-zero feature there: only these columns
of W_v matter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodewise.ops.compiled import device, inlined
from nodewise.ops.fused.simd import (
    get,
    keep_mask,
    mix,
    prefetch,
    put,
    size,
    trailing_zeros,
)
from nodewise.ops.hashing import HEAD_STRIDE, INPUT_STRIDE, LANE_STRIDE, WORD

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]
TILE = 4
# Twice eight vectors: room for two sets of horizontal sums.
SPARE = 128
# Numbers of 32 bits in a cache line.
LINE = 16


class Rows(NamedTuple):
    """Node features h_u: CSR, or dense with `col` counting one row's columns."""

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


class GeneratorArrays(NamedTuple):
    """Generates scales (or shifts): code (N, heads, size), expand (heads, width, size).

    `size` is padded to a multiple of 8. `columns_last` is expand once more, (heads, size, padded
    width), where all columns are active; else it is empty.
    """

    code: Floats
    expand: Floats
    columns_last: Floats
    size: int


class Drop(NamedTuple):
    """DropConnect: entries whose hash is below `threshold` are zero, the others times `grow`."""

    seed: int
    threshold: int
    grow: float


class Layer(NamedTuple):
    """All inputs of a pass; `source` and `ptr` are the edges, sorted by target.

    With `all_columns` every column counts as active for every target.
    """

    rows: Rows
    all_columns: bool
    blocks: Blocks
    scale: GeneratorArrays
    shift: GeneratorArrays
    slope: float
    source: Ints
    ptr: Ints
    drop: Drop


class Scratch(NamedTuple):
    """One thread's buffers, for one target at a time, in its active columns only.

    `scale`, `shift` and their gradients have a row of length `padded` for each head of a tile;
    `local` is a tile of W_v and `grad_local` its gradient T_v. `active` lists the columns, the
    first of them repeated up to a multiple of eight; `slot[f]` is the place of column f in it.
    `marks` has a bit for each column, all zero between targets.
    """

    scale: Floats
    shift: Floats
    grad_scale: Floats
    grad_shift: Floats
    local: Floats
    grad_local: Floats
    spare: Floats
    active: NDArray[np.int32]
    slot: NDArray[np.int32]
    marks: NDArray[np.int64]
    padded: int


@inlined
def drop_mask(drop, node_key, head, f, lane, like):
    """Ones and zeros for eight rows of W_v in column f, from row `lane` on."""
    head_key = mix((node_key + head * HEAD_STRIDE) & WORD)
    key = mix((head_key + f * INPUT_STRIDE) & WORD)
    return keep_mask((key + lane * LANE_STRIDE) & WORD, drop.threshold, like)


@inlined
def row_bounds(rows, u):
    """Where row u's values begin and end, and what to subtract from a place to find its column."""
    if rows.dense:
        return u * rows.width, (u + 1) * rows.width, u * rows.width
    return np.int64(get(rows.crow, u)), np.int64(get(rows.crow, u + 1)), np.int64(0)


@inlined
def prefetch_row(rows, source, edge):
    """Prefetch the features of the source of an edge that comes soon."""
    if edge < size(source):
        begin, end, _ = row_bounds(rows, get(source, edge))
        for j in range(begin, end, LINE):
            prefetch(rows.values, j)
            if not rows.dense:
                prefetch(rows.col, j)


@inlined
def four_rows(rows, source, edge, last):
    """Where the dense rows of the sources of four edges begin; the last edge repeats."""
    width = rows.width
    return (
        get(source, edge) * width,
        get(source, min(edge + 1, last)) * width,
        get(source, min(edge + 2, last)) * width,
        get(source, min(edge + 3, last)) * width,
    )


@inlined
def _mark_columns(layer, v, marks):
    """Set a bit for each column in which a member of C_v has an entry."""
    for edge in range(get(layer.ptr, v), get(layer.ptr, v + 1)):
        begin, end, _ = row_bounds(layer.rows, get(layer.source, edge))
        for j in range(begin, end):
            f = np.int64(get(layer.rows.col, j))
            put(marks, f >> 6, get(marks, f >> 6) | np.int64(1) << (f & 63))


@device
def list_columns(layer, v, scratch):
    """List the active columns of target v, in ascending order; returns how many there are.

    Tables with a row for each column are then read in one direction.
    """
    active, slot, marks, count = scratch.active, scratch.slot, scratch.marks, np.int64(0)
    if layer.all_columns:
        for f in range(layer.rows.width):
            put(active, f, f)
            put(slot, f, f)
        count = np.int64(layer.rows.width)
    else:
        _mark_columns(layer, v, marks)
        for word in range(size(marks)):
            bits = get(marks, word)
            put(marks, word, 0)
            while bits != 0:
                f = 64 * word + trailing_zeros(bits)
                put(active, count, f)
                put(slot, f, count)
                bits, count = bits & (bits - 1), count + 1
    for c in range(count, count + -count % 8):
        put(active, c, get(active, 0))
    return count


@inlined
def message_place(blocks, block, edge):
    """Where a block's part of an edge's message begins, and how many of its lanes are real."""
    head, lane = block // blocks.per_head, 8 * (block % blocks.per_head)
    return (edge * blocks.heads + head) * blocks.out + lane, min(8, blocks.out - lane)


@inlined
def tile_bounds(blocks, number):
    """The first block of a tile and its number of blocks: four, or one of the remaining ones."""
    fours = blocks // TILE
    return (TILE * number, TILE) if number < fours else (TILE * fours + number - fours, 1)
