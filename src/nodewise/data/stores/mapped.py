"""Arrays as `.npy` files: written block by block, opened as memory maps, read again in blocks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nodewise.data.index_arrays import ArrayChecks, Shape
from nodewise.errors import GraphError

_BLOCK: Final = 1 << 20  # entries that are read at a time
_WAY_OUT: Final = "write the store again, with the command that made it"


class GrowingArray:
    """An `.npy` file that blocks are appended to.

    It is written and not mapped: on a full disk a write raises, where a memory map would end the
    process.

    Args:
        path: The file; one that is there is replaced, while those who have it open keep it.
        dtype: The type of the entries.
        row: The shape of what is one entry of the first axis.
    """

    def __init__(self, path: Path, dtype: Any, row: tuple[int, ...] = ()) -> None:
        self.path, self._dtype, self._row = path, np.dtype(dtype), row
        self._digest, self.count = hashlib.sha256(), 0
        path.unlink(missing_ok=True)
        self._stream = path.open("xb")
        self._write_header()

    def append(self, block: ArrayLike) -> None:
        """Write entries behind those before.

        Raises:
            OSError: The disk is full.
        """
        array = np.ascontiguousarray(block, self._dtype)
        assert array.shape[1:] == self._row, f"{self.path.name}: {array.shape} is no block"
        content = array.reshape(-1).view(np.uint8).data
        self._stream.write(content)
        self._digest.update(content)
        self.count += len(array)

    def close(self) -> str:
        """Complete the file; returns the SHA-256 of its entries."""
        self._stream.seek(0)
        self._write_header()
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        return self._digest.hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def _write_header(self) -> None:
        # NumPy leaves room in the header for the first axis to grow.
        about = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self.count, *self._row),
        }
        np.lib.format.write_array_header_1_0(self._stream, about)


def open_mapped(path: Path, kinds: str, shape: Shape) -> Any:
    """The array of an `.npy` file as a read-only memory map.

    Args:
        path: The file.
        kinds: The letters of `dtype.kind` that will do, as for `ArrayChecks.array`.
        shape: Its sizes; None for any.

    Raises:
        GraphError: The file is missing, truncated, or holds another array.
    """
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a damaged header fails in the tokenizer, in mmap or in numpy
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise GraphError(str(path), f"is damaged ({reason})", way_out=_WAY_OUT) from error
    checks_of(path).array(path.stem, array, kinds=kinds, shape=shape)
    return array


def checks_of(path: Path) -> ArrayChecks:
    """The checks of an array of a store."""
    return ArrayChecks(str(path), GraphError, _WAY_OUT)


def read_blocks(path: Path, array: Any, size: int = _BLOCK) -> Iterator[NDArray[Any]]:
    """All entries of a mapped array, in order, some rows at a time.

    They are read and not mapped: pages of a map stay resident, and a check of a file larger than
    memory would fill it.
    """
    width = int(np.prod(array.shape[1:], dtype=np.int64))
    with path.open("rb") as stream:
        stream.seek(array.offset)
        for start in range(0, len(array), size):
            rows = min(size, len(array) - start)
            yield np.fromfile(stream, array.dtype, rows * width).reshape(rows, *array.shape[1:])
