"""`Spill`: a temporary array on disk, which is written once and read in blocks or mapped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Spill:
    """A one-dimensional array in a file of nothing else.

    Args:
        path: The file.
        dtype: The type of the entries.
    """

    def __init__(self, path: Path, dtype: Any) -> None:
        self._path, self.dtype, self.count = path, np.dtype(dtype), 0
        path.write_bytes(b"")

    def append(self, array: NDArray[Any]) -> None:
        """Write entries behind those before.

        Raises:
            OSError: The disk is full.
        """
        content = np.ascontiguousarray(array, self.dtype)
        with self._path.open("ab") as stream:  # and not kept open: there may be hundreds
            stream.write(content.view(np.uint8).data)
        self.count += len(content)

    def mapped(self) -> NDArray[Any]:
        """All entries, mapped."""
        if not self.count:
            return np.zeros(0, self.dtype)
        return np.asarray(np.memmap(self._path, self.dtype, "r"))

    def blocks(self, size: int) -> Iterator[NDArray[Any]]:
        """All entries, some at a time."""
        with self._path.open("rb") as stream:
            while len(block := np.fromfile(stream, self.dtype, size)):
                yield block

    def remove(self) -> None:
        """Delete the file."""
        self._path.unlink(missing_ok=True)
