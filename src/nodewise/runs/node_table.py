"""A table with a row for each node, written as CSV or Parquet by its name's ending."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nodewise.errors import InputError
from nodewise.io import replacing, writing


def check_table_path(option: str, path: Path) -> None:
    """Check that we can write a table of that name.

    Args:
        option: What the path was given as.
        path: The path.

    Raises:
        InputError: Its ending is none that we know.
    """
    if path.suffix not in _WRITERS:
        raise InputError(
            option,
            "must be a CSV or a Parquet file",
            value=str(path),
            way_out="let its name end in .csv or .parquet",
        )


def write_node_table(path: Path, frame: Any, float_format: str | None = None) -> None:
    """Write a pandas frame, whole or not at all.

    Args:
        path: The file, whose ending was checked.
        frame: The table.
        float_format: How a CSV file shows numbers; None for every digit.

    Raises:
        RunError: It cannot be written.
    """
    with writing(path), replacing(path) as stream:
        _WRITERS[path.suffix](frame, stream, float_format)


def _write_parquet(frame: Any, stream: Any, float_format: str | None) -> None:
    frame.to_parquet(stream, index=False)


def _write_csv(frame: Any, stream: Any, float_format: str | None) -> None:
    frame.to_csv(stream, index=False, lineterminator="\n", float_format=float_format)


_WRITERS = {".csv": _write_csv, ".parquet": _write_parquet}
