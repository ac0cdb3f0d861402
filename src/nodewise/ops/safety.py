"""Checks of indices and sizes before compiled code runs.

A kernel reads or writes memory outside of its arrays where an index is out of range. So every
op (`nodewise.ops.registered`) passes its inputs through the checks of this file, and `SparseRows`
and `Neighborhood` are checked when they are constructed. Facts about an index array are cached
while the tensor exists unchanged (by its identity and version counter), so a check costs a look-up
and not a pass over the edges. Writing into a tensor through numpy is not noticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol
from weakref import ref

import torch
from torch import Tensor

from nodewise.errors import InputError


class Facts(NamedTuple):
    """The range of an index array, and whether it never decreases."""

    low: int
    high: int
    rises: bool
    first: int
    last: int


# From a tensor's identity to the tensor, its version when it was checked, and the facts.
_known: dict[int, tuple[ref[Tensor], int, Facts]] = {}


def has_numbers(tensor: Tensor) -> bool:
    """Whether a tensor has values to check: not while a model is compiled, nor on the meta device.

    The ops that a compiled model calls check their inputs.
    """
    return not (torch.compiler.is_compiling() or tensor.is_meta)


def _find_facts(name: str, index: Tensor) -> Facts:
    if index.dim() != 1 or index.dtype not in (torch.int32, torch.int64):
        raise InputError(
            name,
            "must be one row of int32 or int64 numbers",
            value=f"{tuple(index.shape)}, {index.dtype}",
            way_out="convert it first",
        )
    if index.numel() == 0:
        return Facts(0, -1, True, 0, 0)
    low, high = (int(bound) for bound in torch.aminmax(index))
    rises = not bool((index[1:] < index[:-1]).any())
    return Facts(low, high, rises, int(index[0]), int(index[-1]))


def facts(name: str, index: Tensor) -> Facts:
    """Facts about an index array, computed once while the tensor is unchanged.

    Raises:
        InputError: It holds no integers.
    """
    known = _known.get(id(index))
    if known is not None:  # the usual case, so it comes first: a step asks some sixty times
        tensor, version, found = known
        if tensor() is index and version == index._version:
            return found
    found = _find_facts(name, index)
    if not index.is_inference():  # such a tensor has no version counter
        cache_facts(index, found)
    return found


def cache_facts(index: Tensor, found: Facts) -> None:
    """Cache facts about an index array, as long as the tensor exists."""
    key = id(index)
    _known[key] = ref(index, lambda _: _known.pop(key, None)), index._version, found


def check_index(
    name: str, index: Tensor, bound: int, of: str = "rows", count: int | None = None
) -> None:
    """Check that all numbers are from 0 to bound - 1.

    Args:
        name: What the caller calls the array.
        index: The array.
        bound: How many there are to choose from.
        of: What they are.
        count: How many numbers there must be, if that is known.

    Raises:
        InputError: One is outside, the array holds no integers, or another number of them.
    """
    found = facts(name, index)
    if count is not None and index.numel() != count:
        check_shape(name, index, (count,))
    if found.low < 0 or found.high >= bound:
        position = int(((index < 0) | (index >= bound)).nonzero()[0, 0])
        raise InputError(
            name,
            f"must be at least 0 and below {bound}, the number of {of}",
            value=int(index[position]),
            position=position,
            way_out=f"number the {of} from 0 on, without gaps",
        )


def check_offsets(name: str, offsets: Tensor, total: int, count: int | None = None) -> None:
    """Check that offsets begin with 0, never decrease and end with the number of entries.

    Args:
        name: What the caller calls the array.
        offsets: The array.
        total: The number of entries.
        count: How many runs there are, if that is known.

    Raises:
        InputError: They do not.
    """
    found, size = facts(name, offsets), offsets.numel()
    if size == 0 or (count is not None and size != count + 1):
        raise InputError(
            name,
            "must have one number more than there are runs",
            value=size,
            way_out=f"give {1 if count is None else count + 1} numbers",
        )
    if found.first != 0 or found.last != total or not found.rises:
        falls = (offsets[1:] < offsets[:-1]).nonzero()
        position = 0 if found.first != 0 else int(falls[0, 0]) + 1 if len(falls) else size - 1
        raise InputError(
            name,
            f"must begin with 0, never decrease and end with {total}, the number of entries",
            value=int(offsets[position]),
            position=position,
            way_out="sort the entries by row and count them",
        )


def check_shape(name: str, tensor: Tensor, *allowed: Sequence[int | None]) -> None:
    """Check a tensor's shape, None standing for any size.

    Raises:
        InputError: It has none of the allowed shapes.
    """
    shape = tensor.shape
    if shape == allowed[0]:
        return
    for expected in allowed:
        pairs = zip(shape, expected, strict=False)
        if len(shape) == len(expected) and all(b is None or a == b for a, b in pairs):
            return
    shapes = " or ".join(
        f"({', '.join('any' if n is None else str(n) for n in e)})" for e in allowed
    )
    raise InputError(
        name, f"must have the shape {shapes}", value=tuple(shape), way_out="check the sizes"
    )


class Typed(Protocol):
    """An object with numbers of one type: a tensor, sparse rows."""

    @property
    def dtype(self) -> torch.dtype:
        """The type."""


def check_dtype(expected: torch.dtype, name: str, tensor: Typed | None) -> None:
    """Check that a tensor is of the precision of the rest.

    Raises:
        InputError: It is not.
    """
    if tensor is not None and tensor.dtype != expected:
        raise InputError(
            name,
            f"must be {expected}, like the rest",
            value=str(tensor.dtype),
            way_out=f"convert it with .to({expected})",
        )


def check_sparse(name: str, crow: Tensor, col: Tensor, values: Tensor, width: int) -> None:
    """Check the three arrays of sparse rows.

    Raises:
        InputError: They are not those of a matrix so wide.
    """
    check_shape(f"{name}.values", values, (col.numel(),))
    check_offsets(f"{name}.crow", crow, col.numel())
    check_index(f"{name}.col", col, width, of="columns")


def check_edges(source: Tensor, ptr: Tensor, num_sources: int, num_targets: int | None) -> None:
    """Check edges sorted by target.

    Raises:
        InputError: A source is not a node, or the offsets are not those of the edges.
    """
    check_offsets("ptr", ptr, source.numel(), num_targets)
    check_index("source", source, num_sources, of="sources")
