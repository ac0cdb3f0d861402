"""Predictions and embeddings as tables, a row for each node, in CSV or Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor
from torch.nn import Module

from nodewise.errors import InputError
from nodewise.io import replacing, writing
from nodewise.models.baselines.deepwalk import DeepWalk
from nodewise.models.classifier import Classifier

# Spreadsheets take a cell that begins so for a formula, and run it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_predictions(
    path: Path,
    ids: Iterable[object],
    logits: Tensor,
    class_names: Sequence[str],
    for_spreadsheets: bool = False,
) -> None:
    """Write `id, prediction, p_<class> ...`, a row for each node.

    Args:
        path: A .csv or .parquet file; it is written completely or not at all.
        ids: A name for each node.
        logits: Shape (nodes, classes).
        class_names: A name for each class.
        for_spreadsheets: Whether names that a spreadsheet would run as a formula begin with an
            apostrophe in the file.

    Raises:
        InputError: The file's ending is neither.
        RunError: The file cannot be written.
    """
    import pandas as pd

    check_table_path("--out", path)
    columns = [f"p_{name}" for name in class_names]
    shown, rows = list(class_names), list(ids)
    if for_spreadsheets:
        shown, rows = [_harmless(name) for name in shown], [_harmless(name) for name in rows]
    frame = pd.DataFrame(logits.softmax(1).cpu().numpy(), columns=columns)
    frame.insert(0, "prediction", np.asarray(shown, object)[logits.argmax(1).cpu().numpy()])
    frame.insert(0, "id", rows)
    _write(path, frame, "%.6g")


def write_embeddings(
    path: Path, ids: Iterable[object], rows: Tensor, for_spreadsheets: bool = False
) -> None:
    """Write `id, e0, e1, ...`, a row for each node.

    Args:
        path: A .csv or .parquet file; it is written completely or not at all.
        ids: A name for each node.
        rows: Shape (nodes, width).
        for_spreadsheets: As of `write_predictions`.

    Raises:
        InputError: The file's ending is neither.
        RunError: The file cannot be written.
    """
    import pandas as pd

    check_table_path("--embeddings", path)
    columns = [f"e{i}" for i in range(rows.size(1))]
    frame = pd.DataFrame(rows.cpu().numpy(), columns=columns)
    frame.insert(0, "id", [_harmless(name) for name in ids] if for_spreadsheets else list(ids))
    _write(path, frame)


def _harmless(name: Any) -> Any:
    """A name that no spreadsheet takes for a formula; numbers are none."""
    return f"'{name}" if isinstance(name, str) and name.startswith(_FORMULA) else name


@singledispatch
def embed(model: Module, *inputs: Any) -> Tensor:
    """The input of a model's last layer, shape (nodes, width).

    Args:
        model: The model.
        *inputs: The arguments of its `forward`.

    Raises:
        InputError: The model is of a kind whose layers are not known.
    """
    raise InputError(
        "--embeddings",
        "are not known of this model",
        value=type(model).__name__,
        way_out="use a model of `nodewise models` that has layers",
    )


@embed.register
def _(model: Classifier, *inputs: Any) -> Tensor:
    return model.embed(*inputs)


@embed.register
def _(model: DeepWalk, *inputs: Any) -> Tensor:
    return model.embedding


def check_table_path(option: str, path: Path) -> None:
    """Check that a table can be written to a file of that name.

    Args:
        option: The option that the path was given as.
        path: The path.

    Raises:
        InputError: The path ends in neither .csv nor .parquet.
    """
    if path.suffix not in _WRITERS:
        raise InputError(
            option,
            "must be a CSV or a Parquet file",
            value=str(path),
            way_out="let its name end in .csv or .parquet",
        )


def _write(path: Path, frame: Any, float_format: str | None = None) -> None:
    with writing(path), replacing(path) as stream:
        _WRITERS[path.suffix](frame, stream, float_format)


def _write_parquet(frame: Any, stream: Any, float_format: str | None) -> None:
    frame.to_parquet(stream, index=False)


def _write_csv(frame: Any, stream: Any, float_format: str | None) -> None:
    frame.to_csv(stream, index=False, lineterminator="\n", float_format=float_format)


_WRITERS = {".csv": _write_csv, ".parquet": _write_parquet}
