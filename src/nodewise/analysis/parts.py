"""Which part of the split each node of a graph is in, as far as it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nodewise.data.node_index import node_index
from nodewise.data.splits.checks import MASKS
from nodewise.data.splits.drawn import hold_out, stratified_split
from nodewise.data.splits.split import Split
from nodewise.errors import SplitError

if TYPE_CHECKING:
    from torch_geometric.data import Data


def known_split(data: Data, sha256: str | None = None) -> Split | None:
    """The split of a graph's masks, or the one that was drawn from them, or from labels alone.

    Args:
        data: The graph.
        sha256: The fingerprint of a run's split; a split that has to be drawn must have it. None
            for a model without a run, where none is drawn.

    Returns:
        The split, or None where it is not known.
    """
    masks = _of_masks(data)
    known = masks is not None and masks.sha256() == sha256
    if sha256 is None or known or data.get("y") is None:
        return masks
    try:
        drawn = stratified_split(data.y) if masks is None else _held_out(masks, data)
    except SplitError:  # too few labels
        return masks
    return drawn if drawn.sha256() == sha256 else masks


def parts_of(split: Split | None, num_nodes: int) -> NDArray[np.str_]:
    """The part that each node is in, "" where it is in none or the split is not known."""
    parts = np.full(num_nodes, "", dtype="<U5")
    for name, nodes in split or ():
        parts[nodes] = name
    return parts


def _of_masks(data: Data) -> Split | None:
    if MASKS[0] not in data:
        return None
    count = int(data.num_nodes)
    given = (data.get(name) for name in MASKS)
    nodes = [
        node_index(name, [] if mask is None else mask, count)
        for name, mask in zip(MASKS, given, strict=True)
    ]
    return Split(*nodes)


def _held_out(masks: Split, data: Data) -> Split:
    return hold_out(masks.train, data.y, masks.test)
