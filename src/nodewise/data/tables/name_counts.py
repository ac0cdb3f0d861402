"""`NameCounts`: how often each name occurs in a column, and where first; counted block by block."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd


@dataclass
class NameCounts:
    """The names in the rows counted so far.

    Attributes:
        counts: How often each name occurs, in the order in which they first do; "" is none.
        first: The row where each first occurs.
        rows: How many rows were counted.
        empty: How many of them have no name.
        first_empty: The first of those.
    """

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    rows: int = 0
    empty: int = 0
    first_empty: int = -1

    @classmethod
    def of(cls, names: Any) -> Self:
        """The counts of a pandas series of texts."""
        found = cls()
        found.add(names)
        return found

    def add(self, names: Any) -> None:
        """Count more rows."""
        codes, distinct = pd.factorize(names)
        _, first, counts = np.unique(codes, return_index=True, return_counts=True)
        for name, row, count in zip(distinct, first.tolist(), counts.tolist(), strict=True):
            if name:
                self.first.setdefault(name, self.rows + row)
                self.counts[name] = self.counts.get(name, 0) + count
            else:
                self.first_empty = self.rows + row if not self.empty else self.first_empty
                self.empty += count
        self.rows += len(names)

    @property
    def given(self) -> int:
        """How many rows have a name."""
        return self.rows - self.empty
