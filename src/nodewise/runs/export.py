"""Predictions and embeddings as tables, a row for each node, in CSV or Parquet.

Rows are written as they are computed, so that a table may be larger than memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from nodewise.errors import InputError
from nodewise.io import replacing, writing
from nodewise.models.layerwise import Outputs

_AT_ONCE = 1 << 16  # rows

# The names of the nodes from one number to before another.
Names = Callable[[int, int], Iterable[object]]
Append = Callable[[Any], None]

# Spreadsheets take a cell that begins so for a formula, and run it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_outputs(
    outputs: Iterable[Outputs],
    names: Names,
    class_names: Sequence[str],
    out: Path,
    embeddings: Path | None = None,
    for_spreadsheets: bool = False,
) -> None:
    """Write a table of predictions, and one of embeddings if there is a path for it.

    Predictions are `id, prediction, p_<class> ...`, embeddings `id, e0, e1, ...`. Files are written
    completely or not at all, also when computing the outputs fails.

    Args:
        outputs: Logits and embeddings, in the order of the nodes.
        names: The names of nodes.
        class_names: A name for each class.
        out: A .csv or .parquet file.
        embeddings: A .csv or .parquet file, or None.
        for_spreadsheets: Whether names that a spreadsheet would run as a formula begin with an
            apostrophe in the file.

    Raises:
        InputError: A file's ending is neither.
        RunError: A file cannot be written.
    """
    check_table_path("--out", out)
    if embeddings is not None:
        check_table_path("--embeddings", embeddings)
    shown = _harmless if for_spreadsheets else _as_it_is
    with ExitStack() as stack:
        predictions = stack.enter_context(_table(out, "%.6g"))
        others = None if embeddings is None else stack.enter_context(_table(embeddings))
        for nodes, logits, rows in _pieces(outputs):
            ids = [shown(name) for name in names(nodes.start, nodes.stop)]
            predictions(_predictions(ids, logits, class_names, [*map(shown, class_names)]))
            if others is not None and rows is not None:
                others(_embeddings(ids, rows))


def _pieces(outputs: Iterable[Outputs]) -> Iterator[Outputs]:
    """The same outputs, few enough nodes at a time for a table in memory."""
    for nodes, logits, rows in outputs:
        for start in range(0, len(nodes), _AT_ONCE):
            piece = slice(start, start + _AT_ONCE)
            yield Outputs(nodes[piece], logits[piece], None if rows is None else rows[piece])


def _predictions(
    ids: list[object], logits: Tensor, class_names: Sequence[str], shown: Sequence[str]
) -> Any:
    import pandas as pd

    columns = [f"p_{name}" for name in class_names]
    frame = pd.DataFrame(logits.softmax(1).cpu().numpy(), columns=columns)
    frame.insert(0, "prediction", np.asarray(shown, object)[logits.argmax(1).cpu().numpy()])
    frame.insert(0, "id", ids)
    return frame


def _embeddings(ids: list[object], rows: Tensor) -> Any:
    import pandas as pd

    frame = pd.DataFrame(rows.cpu().numpy(), columns=[f"e{i}" for i in range(rows.size(1))])
    frame.insert(0, "id", ids)
    return frame


def _as_it_is(name: Any) -> Any:
    return name


def _harmless(name: Any) -> Any:
    """A name that no spreadsheet takes for a formula; numbers are none."""
    return f"'{name}" if isinstance(name, str) and name.startswith(_FORMULA) else name


def check_table_path(option: str, path: Path) -> None:
    """Check that a table can be written to a file of that name.

    Args:
        option: The option that the path was given as.
        path: The path.

    Raises:
        InputError: The path ends in neither .csv nor .parquet.
    """
    if path.suffix not in _TABLES:
        raise InputError(
            option,
            "must be a CSV or a Parquet file",
            value=str(path),
            way_out="let its name end in .csv or .parquet",
        )


@contextmanager
def _table(path: Path, float_format: str | None = None) -> Iterator[Append]:
    """Yield a function that appends a frame to the table."""
    with (
        writing(path),
        replacing(path) as stream,
        _TABLES[path.suffix](stream, float_format) as add,
    ):
        yield add


@contextmanager
def _parquet(stream: Any, float_format: str | None) -> Iterator[Append]:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    with ExitStack() as stack:
        writers: list[Any] = []

        def add(frame: Any) -> None:
            schema = writers[0].schema if writers else None
            table = pa.Table.from_pandas(frame, schema, preserve_index=False)
            if not writers:
                writers.append(stack.enter_context(ParquetWriter(stream, table.schema)))
            writers[0].write_table(table)

        yield add


@contextmanager
def _csv(stream: Any, float_format: str | None) -> Iterator[Append]:
    def add(frame: Any) -> None:
        options = {"index": False, "lineterminator": "\n", "float_format": float_format}
        frame.to_csv(stream, header=stream.tell() == 0, **options)

    yield add


_TABLES = {".csv": _csv, ".parquet": _parquet}
