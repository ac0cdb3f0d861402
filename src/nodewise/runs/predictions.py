"""Predictions as a table: `id, prediction, p_<class> ...`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from torch import Tensor

from nodewise.runs.node_table import check_table_path, write_node_table


def write_predictions(
    path: Path, ids: Iterable[object], logits: Tensor, class_names: Sequence[str]
) -> None:
    """Write a row for every node, as CSV or Parquet by the name's ending.

    Args:
        path: The file; it is written whole or not at all.
        ids: A name for every node.
        logits: Shape (nodes, classes).
        class_names: One for every class.

    Raises:
        InputError: The ending is neither.
        RunError: It cannot be written.
    """
    import pandas as pd

    check_table_path("--out", path)
    columns = [f"p_{name}" for name in class_names]
    frame = pd.DataFrame(logits.softmax(1).cpu().numpy(), columns=columns)
    frame.insert(0, "prediction", np.asarray(class_names, object)[logits.argmax(1).cpu().numpy()])
    frame.insert(0, "id", list(ids))
    write_node_table(path, frame, "%.6g")
