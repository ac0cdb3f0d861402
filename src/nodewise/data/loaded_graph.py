"""A graph with all that comes with it from wherever it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nodewise.data.fingerprints import graph_sha256

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from nodewise.data.preprocessing import Preprocessing


@dataclass(frozen=True, eq=False)
class LoadedGraph:
    """A graph to train or predict on.

    Attributes:
        data: The graph.
        ids: The nodes' own names, in the order of the rows of `x`.
        preprocessing: What a later table needs to become the same features, if tables were read.
        told: What its owner should know before training, some lines.
    """

    data: Data
    ids: Sequence[Any]
    preprocessing: Preprocessing | None = None
    told: str = ""

    @cached_property
    def sha256(self) -> str:
        """The graph's fingerprint, taken once however many runs ask for it."""
        return graph_sha256(self.data)
