"""`NameTable`: the numbers of millions of names, in arrays rather than Python's objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nodewise.data.sources.source import SourceTable
from nodewise.data.streaming.kernels import build_table, find_names, hash_names
from nodewise.data.streaming.spill import Spill
from nodewise.data.tables.nodes import repeated_id

# A slot of the table has 32 bits for a node.
MOST_NODES: Final = 2**32 - 2


def text_arrays(names: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of a series of texts one after the other, and where each begins and ends."""
    array = pa.array(names, pa.large_string())
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    _, offsets, data = array.buffers()
    if not len(array):
        return np.zeros(0, np.uint8), np.zeros(1, np.int64)
    ptr = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return np.frombuffer(data or b"", np.uint8), ptr


def hashes(names: Any) -> NDArray[np.uint64]:
    """64 bits for each of some names, the same for equal ones."""
    data, ptr = text_arrays(names)
    out = np.empty(len(ptr) - 1, np.uint64)
    hash_names(data, ptr, out)
    return out


class NameTable:
    """The names of the nodes, and the number of each.

    Names are added in blocks; `close` builds the table, which is then queried.

    Args:
        folder: Where the names are written.
    """

    def __init__(self, folder: Path) -> None:
        self._data = Spill(folder / "names", np.uint8)
        self._ptr = Spill(folder / "names_ptr", np.int64)
        self._ptr.append(np.zeros(1, np.int64))
        self._end = 0
        self._table = np.zeros(1, np.uint64)

    def add(self, names: Any) -> None:
        """Add a series of texts.

        Raises:
            OSError: The disk is full.
        """
        data, ptr = text_arrays(names)
        self._data.append(data[ptr[0] : ptr[-1]])
        self._ptr.append(ptr[1:] - ptr[0] + self._end)
        self._end += int(ptr[-1] - ptr[0])

    def close(self, nodes: SourceTable, column: str) -> None:
        """Build the table from names to numbers; the table of nodes is for errors.

        Raises:
            TableError: A node has the name of another, or there are too many.
        """
        count = self._ptr.count - 1
        if count > MOST_NODES:
            way_out = "split the graph"
            raise nodes.error(f"has more than {MOST_NODES} rows", value=count, way_out=way_out)
        self._table = np.zeros(1 << (count + count // 2).bit_length(), np.uint64)
        row, first = build_table(*self._nodes, self._table)
        if row >= 0:
            raise repeated_id(nodes, column, int(row), int(first), self._name(row))

    def numbers(self, names: Any) -> NDArray[np.int64]:
        """The number of each name, -1 where it is not that of a node."""
        data, ptr = text_arrays(names)
        out = np.empty(len(ptr) - 1, np.int64)
        find_names(data, ptr, *self._nodes, self._table, out)
        return out

    def forget(self) -> None:
        """Free the memory, and delete the files."""
        self._table = np.zeros(1, np.uint64)
        self._data.remove()
        self._ptr.remove()

    @property
    def _nodes(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        return self._data.mapped(), self._ptr.mapped()

    def _name(self, node: int) -> str:
        data, ptr = self._nodes
        return data[ptr[node] : ptr[node + 1]].tobytes().decode()
