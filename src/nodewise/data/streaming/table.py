"""`StreamedTable`: a table of any size whose columns are read in blocks, as often as needed.

A Parquet file can be read so as it is. A text is parsed once, into a file of Arrow's whose columns
can be read alone; while it is parsed the types of its columns are found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from nodewise.data.sources.open_source import ParquetSource
from nodewise.data.sources.source import Source, SourceTable
from nodewise.data.sources.text_source import TextSource
from nodewise.data.streaming.budget import Budget
from nodewise.data.streaming.kinds import ColumnKind, frame_of

# What is being done, how much of it is done, and how much there is to do; 0 if that is not known.
Show = Callable[[str, int, int], None]
_MAPPED: Final = 8  # batches, after which a mapping is given up: its pages count as memory


class StreamedTable(ABC):
    """A table in blocks.

    Attributes:
        name: The file's path.
        columns: What the columns are called.
        num_rows: How many rows there are.
        block: Makes a table of a frame whose first row has that number; without a frame it is for
            errors.
    """

    name: str
    columns: tuple[str, ...]
    num_rows: int
    block: Callable[..., SourceTable]

    @abstractmethod
    def blocks(self, columns: Collection[str]) -> Iterator[tuple[int, SourceTable]]:
        """Some columns, block by block, each with the number of its first row."""

    def numbers(self, column: str) -> int | None:
        """How many numbers a column has that has no other cells, if that is known."""
        return None


class StreamedText(StreamedTable):
    """A text table that is parsed into a file of Arrow's.

    Args:
        source: The text.
        as_text: Columns whose cells stay texts.
        path: Where to write.
        budget: The memory.
        show: Called with what is read, in bytes.

    Raises:
        TableError: The text is not a table.
        OSError: The disk is full.
    """

    def __init__(
        self, source: TextSource, as_text: Collection[str], path: Path, budget: Budget, show: Show
    ) -> None:
        self.name, self.columns, self.num_rows = source.name, source.columns, 0
        self.block, self._path = source.block, path
        kinds = {name: ColumnKind(source.decimal) for name in self.columns if name not in as_text}
        size = Path(source.name).stat().st_size
        schema = pa.schema([(name, pa.string()) for name in self.columns])
        with pa.ipc.new_file(str(path), schema) as writer:
            for batch, read in source.stream(budget.block):
                for name, kind in kinds.items():
                    kind.see(batch.column(name))
                writer.write_batch(batch)
                self.num_rows += batch.num_rows
                show("reading nodes", min(read, size), size)
        self._kinds = kinds
        self._objects = {name for name, kind in kinds.items() if kind.is_object}

    def blocks(self, columns: Collection[str]) -> Iterator[tuple[int, SourceTable]]:
        """Some columns, block by block, each with the number of its first row."""
        start, batches, count = 0, 0, 1
        while batches < count:
            with pa.memory_map(str(self._path)) as stream:
                reader = pa.ipc.open_file(stream)
                count = reader.num_record_batches
                for number in range(batches, min(batches + _MAPPED, count)):
                    batch = reader.get_batch(number)
                    cells = {name: self._cells(name, batch.column(name)) for name in columns}
                    yield start, self.block(frame_of(cells, self._objects), start)
                    start += batch.num_rows
            batches += _MAPPED

    def numbers(self, column: str) -> int | None:
        """How many numbers a column has that has no other cells, if that is known."""
        kind = self._kinds.get(column)
        return None if kind is None else kind.numbers

    def _cells(self, name: str, texts: Any) -> Any:
        kind = self._kinds.get(name)
        return texts if kind is None else kind.cells(texts)


class StreamedParquet(StreamedTable):
    """A Parquet file.

    Args:
        source: The file.
        budget: The memory.
    """

    def __init__(self, source: ParquetSource, budget: Budget) -> None:
        self.name, self.columns = source.name, source.columns
        self.num_rows, self.block = source.num_rows, source.block
        self._source, self._rows = source, budget.rows

    def blocks(self, columns: Collection[str]) -> Iterator[tuple[int, SourceTable]]:
        """Some columns, block by block, each with the number of its first row."""
        start = 0
        for frame in self._source.stream(columns, self._rows):
            yield start, self.block(frame, start)
            start += len(frame)


def stream_nodes(
    source: Source, as_text: Sequence[str], path: Path, budget: Budget, show: Show
) -> StreamedTable:
    """A table of nodes in blocks; a text is parsed once.

    Raises:
        TableError: It is not a table.
        OSError: The disk is full.
    """
    if isinstance(source, ParquetSource):
        return StreamedParquet(source, budget)
    assert isinstance(source, TextSource)
    return StreamedText(source, as_text, path, budget, show)


def stream_edges(
    source: Source, ends: Collection[str], weight: str | None, budget: Budget, show: Show
) -> Iterator[SourceTable]:
    """The ends and the weights of a table of edges in blocks, read once.

    Raises:
        TableError: It is not a table.
    """
    start, columns = 0, [*ends, *([] if weight is None else [weight])]
    if isinstance(source, ParquetSource):
        for frame in source.stream(columns, budget.rows):
            yield source.block(frame, start)
            start += len(frame)
            show("reading edges", start, source.num_rows)
        return
    assert isinstance(source, TextSource)
    size = Path(source.name).stat().st_size
    for batch, read in source.stream(budget.block):
        cells = {name: batch.column(name) for name in columns}
        if weight is not None:
            kind = ColumnKind(source.decimal)
            kind.see(cells[weight])
            cells[weight] = kind.cells(cells[weight])
        yield source.block(frame_of(cells, set()), start)
        start += batch.num_rows
        show("reading edges", min(read, size), size)
