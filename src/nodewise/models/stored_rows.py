"""Rows of all nodes, written from the first to the last: in memory, or in a temporary file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO, Protocol
from weakref import finalize

import numpy as np
import torch
from torch import Tensor

from nodewise.errors import InputError
from nodewise.ops.sparse import Features, take_rows


class FeatureRows(Protocol):
    """The rows of all nodes, of which some can be read; `GraphStore` is one."""

    def take(self, n_id: Tensor) -> Features:
        """The rows of some nodes, in that order.

        Args:
            n_id: Node numbers, shape (n,).
        """


@dataclass(frozen=True, eq=False)
class RowsInMemory:
    """Features, dense or sparse, as `FeatureRows`.

    Attributes:
        x: The features.
    """

    x: Features

    def take(self, n_id: Tensor) -> Features:
        """The rows of some nodes, in that order."""
        return take_rows(self.x, n_id.to(self.x.device))


class StoredRows:
    """Rows that are appended once, then read in any order.

    In a file they are written as a stream, so that a full disk is an error and no signal, and read
    through memory that the system can take back. The file has no name: nothing is left behind.

    Args:
        count: How many rows there will be.
        memory: The largest size in bytes that is kept in memory.
        folder: Where a temporary file goes; None for the system's folder.
    """

    def __init__(self, count: int, memory: int, folder: Path | None = None) -> None:
        self.count, self.memory, self.folder = count, memory, folder
        self._written = 0
        self._stream: IO[bytes] | None = None
        self._rows: Tensor | None = None

    def append(self, rows: Tensor) -> None:
        """Write the next rows.

        Raises:
            InputError: There is no room for the file.
        """
        rows = rows.detach().cpu().contiguous()
        if self._stream is None and self._rows is None:
            self._open(rows)
        if self._rows is not None:
            self._rows[self._written : self._written + len(rows)] = rows
        elif rows.numel():
            self._write(rows)
        self._written += len(rows)
        if self._written == self.count and self._stream is not None:
            self._rows = _mapped(self._stream, rows, self.count)

    def take(self, n_id: Tensor) -> Tensor:
        """The rows of some nodes, in that order, after the last row was written."""
        assert self._rows is not None
        return self._rows.index_select(0, n_id)

    def _open(self, like: Tensor) -> None:
        """Prepare for rows like the first ones."""
        size = self.count * like[:1].nbytes
        if size <= self.memory:
            self._rows = like.new_empty(self.count, *like.shape[1:])
            return
        try:
            self._stream = TemporaryFile(dir=self.folder)  # noqa: SIM115  # read later
        except OSError as error:
            raise self._full(error, size) from error
        finalize(self, self._stream.close)

    def _write(self, rows: Tensor) -> None:
        assert self._stream is not None
        try:
            self._stream.write(rows.numpy().data.cast("B"))
        except OSError as error:
            raise self._full(error, self.count * rows[:1].nbytes) from error

    def _full(self, error: OSError, size: int) -> InputError:
        return InputError(
            str(self.folder or gettempdir()),
            f"cannot hold a temporary file of {size / 1e9:.1f} GB ({error.strerror})",
            way_out="make room, set TMPDIR to a larger disk, or allow more --memory",
        )


def _mapped(stream: IO[bytes], like: Tensor, count: int) -> Tensor:
    """The rows of a file, mapped into memory."""
    stream.flush()
    shape = (count, *like.shape[1:])
    # Copied on write, since torch takes no array that is read-only.
    return torch.from_numpy(np.memmap(stream, like.numpy().dtype, "c", shape=shape))
