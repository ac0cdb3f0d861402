"""The memory that a conversion may use, and what it is divided into."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from nodewise.errors import InputError

# Python with torch, PyG, pandas and Arrow, and kernels compiled: what eight nodes take.
_BASE: Final = 600 * 10**6
_LEAST: Final = 800 * 10**6
# Of a node: its name in the table of names, its label and degree, pages of mapped files, and, while
# features are fitted, a column of numbers with its copies.
_OF_NODE: Final = 120
_TO_WORK_WITH: Final = 50 * 10**6


@dataclass(frozen=True)
class Budget:
    """How much memory is used for what.

    Args:
        total: The bytes that the process may use.
        num_nodes: How many nodes there are, of which each needs some; 0 before that is known.

    Raises:
        InputError: It is too little for any table.
    """

    total: int
    num_nodes: int = 0

    def __post_init__(self) -> None:
        if self.total < _LEAST:
            raise _too_small(self.total, _LEAST, "anything")
        needed = _BASE + _OF_NODE * self.num_nodes + _TO_WORK_WITH
        if needed > self.total:
            raise _too_small(self.total, needed, f"{self.num_nodes:,} nodes")

    @property
    def _free(self) -> int:
        return self.total - _BASE - _OF_NODE * self.num_nodes

    @property
    def block(self) -> int:
        """Bytes of a text file that are parsed at a time; several such blocks are in memory."""
        return min(max(self._free // 100, 1 << 20), 1 << 24)

    @property
    def rows(self) -> int:
        """Rows of a table that are read at a time, where bytes are not known."""
        return min(max(self._free // 10_000, 1 << 13), 1 << 18)

    def rows_of(self, width: int) -> int:
        """Rows of so many features that are encoded at a time."""
        return max(self._free // 20 // (16 * max(width, 1)), 64)

    @property
    def entries(self) -> int:
        """Edges, each in one direction, that are sorted at a time."""
        return self._free // 2 // 100

    def beside(self, num_nodes: int) -> Budget:
        """What is left beside so many nodes.

        Raises:
            InputError: Nothing is.
        """
        return replace(self, num_nodes=num_nodes)


def _too_small(given: int, needed: int, what: str) -> InputError:
    return InputError(
        "--memory",
        f"is too little for {what}",
        value=f"{given / 10**9:.2g}GB",
        way_out=f"give {-(-needed // 10**8) / 10:.1f}GB or more",
    )
