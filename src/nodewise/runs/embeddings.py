"""The rows that a model keeps for nodes before it decides, and their way into a table."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.nn import Module

from nodewise.errors import InputError
from nodewise.models.baselines.deepwalk import DeepWalk
from nodewise.models.classifier import Classifier
from nodewise.runs.node_table import check_table_path, write_node_table


@singledispatch
def embed(model: Module, *inputs: Any) -> Tensor:
    """A row for each node (N, width), from what the model is called with.

    Raises:
        InputError: We do not know what the model keeps.
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


def write_embeddings(path: Path, ids: Iterable[object], rows: Tensor) -> None:
    """Write `id, e0, e1, ...`, a row for each node, as Parquet or CSV by the name's ending.

    Raises:
        InputError: The ending is neither.
        RunError: It cannot be written.
    """
    import pandas as pd

    check_table_path("--embeddings", path)
    columns = [f"e{i}" for i in range(rows.size(1))]
    frame = pd.DataFrame(rows.cpu().numpy(), columns=columns)
    frame.insert(0, "id", list(ids))
    write_node_table(path, frame)
