"""Predictions for the nodes without a label, for `diagnostics.json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 5_000  # nodes; a page with more opens slowly, and `nodewise predict` writes all
_DIGITS = 4


def unlabeled_predictions(
    labels: NDArray[np.int64], probabilities: NDArray[np.float64], ids: Sequence[Any]
) -> dict[str, Any] | None:
    """The surest predictions for nodes without a label; None where every node has one.

    Args:
        labels: A class for each node, negative for none, shape (N,).
        probabilities: Shape (N, classes).
        ids: A name for each node.

    Returns:
        How many such nodes there are (`count`), and for the surest, these first, a list of names
        (`ids`), of the most probable class (`first`) and the next (`second`; none of one class),
        and of both probabilities (`first_p`, `second_p`).
    """
    nodes = np.flatnonzero(labels < 0)
    if not len(nodes):
        return None
    order = np.argsort(-probabilities[nodes].max(1), kind="stable")[:MOST]
    nodes, rows = nodes[order], probabilities[nodes[order]]
    ranks = np.argsort(-rows, axis=1, kind="stable")[:, :2]
    found: dict[str, Any] = {
        "count": int((labels < 0).sum()),
        "ids": [name_of(ids[i]) for i in nodes.tolist()],
    }
    for name, classes in zip(("first", "second"), ranks.T, strict=False):
        found[name] = classes.tolist()
        found[f"{name}_p"] = (
            np.take_along_axis(rows, classes[:, None], 1)[:, 0].round(_DIGITS).tolist()
        )
    return found


def name_of(id: Any) -> str | int:
    """A node's name as JSON has it."""
    return id if isinstance(id, str | int) else str(id)
