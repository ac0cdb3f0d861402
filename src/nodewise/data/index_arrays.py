"""Checks whether arrays from a file, or from a caller, may be used as indices.

scipy and torch trust the offsets of a compressed sparse matrix: with wrong ones they read and write
outside their arrays, and the process dies. So every reader checks its arrays here before scipy,
torch or NumPy's indexing sees them. A check is one pass without a copy.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from nodewise.errors import InputError

# Each column has a name and weights: more would fill the memory before training starts.
WIDEST: Final = 1 << 24
_LARGEST = (1 << 31) - 1  # the kernels count rows and columns in 32 bits
_INT64 = 1 << 63
_CHUNK = 1 << 20  # offsets that are compared at a time
_HOLDS = {
    "iu": "integers",
    "b": "booleans",
    "biu": "booleans or integers",
    "buif": "numbers",
    "U": "texts",
}
Shape = tuple[int | None, ...]


@dataclass(frozen=True)
class ArrayChecks:
    """Checks of the arrays of one file; each raises on the first thing that is wrong.

    Args:
        file: The file, for errors; None for arrays that come from a caller.
        error: What to raise.
        way_out: What to do about it, as a clause.
    """

    file: str | None = None
    error: type[InputError] = InputError
    way_out: str = "correct the arrays and save them again"

    def array(self, name: str, array: Any, *, kinds: str, shape: Shape) -> None:
        """Check the type and the shape of an array.

        Args:
            name: What errors call it, beside the file.
            array: What should be a NumPy array.
            kinds: The letters of `dtype.kind` that will do: "iu", "b", "biu", "buif" or "U".
            shape: Its sizes; None for any.

        Raises:
            InputError: It is something else.
        """
        if not isinstance(array, np.ndarray):
            problem = f"must be an array of {_HOLDS[kinds]}"
            raise self.wrong(name, problem, value=type(array).__name__)
        if array.dtype.kind not in kinds:
            raise self.wrong(name, f"must hold {_HOLDS[kinds]}", value=str(array.dtype))
        sizes = zip(shape, array.shape, strict=False)
        if array.ndim != len(shape) or any(size not in (None, found) for size, found in sizes):
            wanted = ", ".join("any" if size is None else str(size) for size in shape)
            raise self.wrong(name, f"must have shape ({wanted})", value=array.shape)

    def index(
        self, name: str, array: Any, *, shape: Shape, bound: int = _INT64, least: int = 0
    ) -> None:
        """Check an array of integers, `least` <= entry < `bound`.

        Args:
            name: What errors call it, beside the file.
            array: What should be a NumPy array.
            shape: Its sizes; None for any.
            bound: What entries must be below; by default they must fit a signed 64-bit integer.
            least: What entries must not be below.

        Raises:
            InputError: It is something else; the error has the first entry outside.
        """
        self.array(name, array, kinds="iu", shape=shape)
        self._check_range(name, array, least, bound)

    def index_blocks(self, name: str, blocks: Iterable[Any], *, bound: int, least: int = 0) -> None:
        """Check an array of integers that comes in blocks, as `index` does.

        Args:
            name: What errors call it, beside the file.
            blocks: The parts of a one-dimensional array, in order.
            bound: What entries must be below.
            least: What entries must not be below.

        Raises:
            InputError: It is something else; the error has the first entry outside.
        """
        start = 0
        for block in blocks:
            self._check_range(name, block, least, bound, start)
            start += len(block)

    def offsets(self, name: str, array: Any, *, rows: int, count: int) -> None:
        """Check where the rows of a compressed sparse matrix begin: integers from 0 to `count`.

        Args:
            name: What errors call them, beside the file.
            array: What should be a NumPy array of shape (rows + 1,).
            rows: How many rows there are.
            count: How many entries there are.

        Raises:
            InputError: They are something else; the error has the first wrong one.
        """
        self.array(name, array, kinds="iu", shape=(rows + 1,))
        if array[0] != 0:
            raise self.wrong(name, "must begin with 0", value=int(array[0]), position=0)
        # In chunks, since a comparison of all would be another array; and compared rather than
        # subtracted, since a difference of unsigned integers is never negative.
        for start in range(0, rows, _CHUNK):
            part = array[start : start + _CHUNK + 1]
            falls = part[1:] < part[:-1]
            if falls.any():
                at = start + 1 + int(falls.argmax())
                problem = f"must never decrease, and {int(array[at - 1])} comes before"
                raise self.wrong(name, problem, value=int(array[at]), position=at)
        if int(array[rows]) != count:
            problem = f"must end with {count}, the count of entries"
            raise self.wrong(name, problem, value=int(array[rows]), position=rows)

    def csr(self, arrays: Mapping[str, Any]) -> tuple[int, int]:
        """Check the arrays of a compressed sparse matrix, and give its shape.

        Args:
            arrays: Data, indices, indptr and shape, in this order, by what errors call them.

        Raises:
            InputError: They are not such a matrix.
        """
        (named_data, named_indices, named_indptr, named_shape) = arrays.items()
        rows, columns = self._sizes(*named_shape)
        self.array(*named_data, kinds="buif", shape=(None,))
        count = len(named_data[1])
        self.index(*named_indices, shape=(count,), bound=columns)
        self.offsets(*named_indptr, rows=rows, count=count)
        return rows, columns

    def wrong(
        self,
        name: str,
        problem: str,
        *,
        value: object = None,
        position: int | tuple[int, ...] | None = None,
    ) -> InputError:
        """An error about an array of this file."""
        field = name if self.file is None else f"{self.file}, {name}"
        return self.error(field, problem, value=value, position=position, way_out=self.way_out)

    def _check_range(self, name: str, array: Any, least: int, bound: int, start: int = 0) -> None:
        """Check the range of integers whose first row has the number `start`."""
        if array.size == 0 or (int(array.min()) >= least and int(array.max()) < bound):
            return
        first = int(((array < least) | (array >= bound)).argmax())
        row, *rest = (int(i) for i in np.unravel_index(first, array.shape))
        problem = f"must be at least {least} and below {bound}"
        value = int(array[(row, *rest)])
        raise self.wrong(name, problem, value=value, position=(start + row, *rest))

    def _sizes(self, name: str, shape: Any) -> tuple[int, int]:
        integers = not isinstance(shape, np.ndarray) or shape.dtype.kind in "iu"
        sizes = shape.tolist() if isinstance(shape, np.ndarray) and shape.size <= 2 else shape
        pair = isinstance(sizes, list | tuple) and len(sizes) == 2
        if not (integers and pair and all(type(n) is int and 0 <= n <= _LARGEST for n in sizes)):
            problem = f"must be two whole numbers, rows and columns, from 0 to {_LARGEST}"
            raise self.wrong(name, problem, value=reprlib.repr(sizes))
        rows, columns = sizes
        return rows, columns
