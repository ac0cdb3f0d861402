"""Predictions as a table: `id, prediction, p_<class> ...`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from torch import Tensor

from nodewise.data.atomic import replacing
from nodewise.training.tensor_file import writing


def write_predictions(
    path: Path, ids: Iterable[object], logits: Tensor, class_names: Sequence[str]
) -> None:
    """Write a CSV file with a row for every node.

    Args:
        path: The file; it is written whole or not at all.
        ids: A name for every node.
        logits: Shape (nodes, classes).
        class_names: One for every class.

    Raises:
        RunError: It cannot be written.
    """
    probabilities = logits.softmax(1).tolist()
    predictions = logits.argmax(1).tolist()
    with writing(path), replacing(path) as stream:
        text = io.TextIOWrapper(stream, "utf-8", newline="", write_through=True)
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["id", "prediction", *(f"p_{name}" for name in class_names)])
        for node, best, row in zip(ids, predictions, probabilities, strict=True):
            table.writerow([node, class_names[best], *(f"{p:.6g}" for p in row)])
        text.detach()
