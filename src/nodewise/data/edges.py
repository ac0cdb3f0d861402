"""The edges of a graph, tidied: sorted, without repeats and self-loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of a graph.

    Args:
        index: Sources and targets (2, E), sorted; both directions of every undirected edge.
        weight: One float32 for each (E), or None.
        count: How many there are; an undirected edge counts once.
        degrees: How many neighbors each node has, in either direction (nodes).
        dropped: Why rows were dropped, and how many.
        disagreeing: How many of those repeat an edge with another weight than the one kept.
    """

    index: NDArray[np.int64]
    weight: NDArray[np.float32] | None
    count: int
    degrees: NDArray[np.int64]
    dropped: Mapping[str, int]
    disagreeing: int = 0


def connect(
    ends: NDArray[np.int64],
    num_nodes: int,
    *,
    directed: bool = False,
    weight: NDArray[np.float64] | None = None,
) -> Edges:
    """Tidy the edges (2, rows): drop self-loops and repeats, add the other direction.

    Of repeated edges the first row's weight is kept.
    """
    source, target = ends
    forward, backward = source * num_nodes + target, target * num_nodes + source
    loop = source == target
    either_way = np.minimum(forward, backward)
    same = forward if directed else either_way
    repeated = _repeated(forward) & ~loop
    reverse = _repeated(either_way) & ~repeated & ~loop
    pairs = np.flatnonzero(~(loop | repeated | reverse))
    rows = np.flatnonzero(~(loop | repeated)) if directed else np.concatenate([pairs, pairs])
    keys = forward[rows] if directed else np.concatenate([forward[pairs], backward[pairs]])
    order = np.argsort(keys)
    reasons = {"self-loops": loop, "repeated edges": repeated}
    if not directed:
        reasons["edges listed in both directions"] = reverse
    return Edges(
        index=np.stack(np.divmod(keys[order], num_nodes)),
        weight=None if weight is None else weight[rows[order]].astype(np.float32),
        count=len(rows) if directed else len(pairs),
        degrees=np.bincount(ends[:, pairs].ravel(), minlength=num_nodes),
        dropped={reason: int(found.sum()) for reason, found in reasons.items() if found.any()},
        disagreeing=0 if weight is None else _disagreeing(same[~loop], weight[~loop]),
    )


def _disagreeing(keys: NDArray[np.int64], weight: NDArray[np.float64]) -> int:
    """How many weights differ from that of the first row with the same key."""
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return int((weight != weight[first[which]]).sum())


def _repeated(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a key has been seen before."""
    repeated = np.ones(len(keys), np.bool_)
    # With the index NumPy sorts; without, it hashes, and such regular keys collide for seconds.
    repeated[np.unique(keys, return_index=True)[1]] = False
    return repeated
