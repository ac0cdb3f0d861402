"""`open_source`: a table's header, from a file, a pandas frame or a list of pairs."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nodewise.data.sources.dialect import find_dialect
from nodewise.data.sources.input_file import PARQUET, InputFile, check_text
from nodewise.data.sources.source import Source, SourceTable
from nodewise.data.sources.text_source import TextSource
from nodewise.errors import TableError


def open_source(thing: Any, name: str, *, header: bool = True) -> Source:
    """Open a table.

    Args:
        thing: A file, a frame, or, for edges, pairs: an array or a list of shape (edges, 2).
        name: What the table is, `nodes` or `edges`, where it has no path.
        header: Whether a text file must begin with a header.

    Raises:
        TableError: It cannot be opened, or has no sound header.
    """
    if isinstance(thing, str | os.PathLike):
        thing = InputFile.open(Path(thing))
    if isinstance(thing, InputFile):
        return _open_file(thing, header)
    if isinstance(thing, pd.DataFrame):
        return FrameSource(name, thing)
    return FrameSource(name, _pairs(thing, name))


def _open_file(file: InputFile, header: bool) -> Source:
    if file.head.startswith(PARQUET):
        return ParquetSource(file.path)
    check_text(file.path, file.head)
    return TextSource(file.path, find_dialect(file.path, file.head, header=header))


def _pairs(thing: Any, name: str) -> Any:
    pairs = np.asarray(thing)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise TableError(
            name,
            "must be a path, a pandas frame, or pairs of shape (edges, 2)",
            value=f"{type(thing).__name__} of shape {pairs.shape}",
            way_out="transpose an edge_index with edge_index.T",
        )
    return pd.DataFrame(pairs, columns=["source", "target"])


class FrameSource(Source):
    """A pandas frame; errors name rows by its index."""

    def __init__(self, name: str, frame: Any) -> None:
        self.name, self._frame = name, frame
        self.columns = tuple(map(str, frame.columns))
        repeated = pd.Index(self.columns).duplicated()
        if repeated.any():
            raise TableError(
                name,
                "has more than one column of this name",
                column=self.columns[int(repeated.argmax())],
                way_out="give every column a unique name",
            )

    def read(self, as_text: Collection[str]) -> SourceTable:
        """The frame, its rows numbered from 0; cells keep their types."""
        index = self._frame.index
        if len(index) == 0:
            raise TableError(self.name, "has no rows", way_out="give a row for each node or edge")
        frame = self._frame.set_axis(list(self.columns), axis=1).reset_index(drop=True)
        return SourceTable(self.name, frame, lambda row: f"row {index[row]!r}")


class ParquetSource(Source):
    """A Parquet file; its rows are counted from 1."""

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self.name, self._path = str(path), path
        try:
            self._file = parquet.ParquetFile(path)
        except Exception as error:  # Arrow has an exception for each way of being damaged
            raise self._broken(error) from error
        self.columns = tuple(self._file.schema_arrow.names)

    def read(self, as_text: Collection[str]) -> SourceTable:
        """Read all rows; columns have the types they were saved with.

        Raises:
            TableError: The file is damaged, or has no rows.
        """
        try:
            # An index that pandas saved is read as a column, like any other.
            with self._opened() as file:
                table = file.read()
                table.validate(full=True)  # texts may not be UTF-8
                frame = table.to_pandas(ignore_metadata=True)
        except Exception as error:
            raise self._broken(error) from error
        return self.block(FrameSource(self.name, frame).read(as_text).frame)

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return int(self._file.metadata.num_rows)

    def stream(self, columns: Collection[str], rows: int) -> Iterator[Any]:
        """Some columns in frames of at most so many rows, with the types they were saved with.

        Raises:
            TableError: The file is damaged, or has no rows.
        """
        from pyarrow import ArrowException

        if not self.num_rows:
            raise TableError(self.name, "has no rows", way_out="give a row for each node or edge")
        try:
            with self._opened() as file:
                for batch in file.iter_batches(rows, columns=list(columns)):
                    yield batch.to_pandas(ignore_metadata=True)
        except (ArrowException, OSError) as error:
            raise self._broken(error) from error

    def block(self, frame: Any, start: int = 0) -> SourceTable:
        """Rows from `start` on as a table that knows where they are in the file; None for none."""
        cell = (lambda row, column: "") if frame is None else None
        return SourceTable(self.name, frame, lambda row: f"row {start + row + 1}", cell)

    def _opened(self) -> Any:
        """The file, opened again if it was read before."""
        from pyarrow import parquet

        return parquet.ParquetFile(self._path) if self._file.closed else self._file

    def _broken(self, error: Exception) -> TableError:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return TableError(
            self.name,
            f"is damaged, or not a Parquet file ({reason})",
            way_out="write or copy it again",
        )
