"""Degrees: the features of a node of which only the edges are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nodewise.checked import expect
from nodewise.data.encoders.encoder import EncodedColumn, Encoder
from nodewise.data.sources.source import SourceTable

DEGREE = "(degree)"  # in parentheses, so that it is the name of no column


@dataclass(frozen=True)
class DegreeColumn(Encoder):
    """A node's degree, one-hot: 0, 1, 2, 3 to 4, 5 to 8 and so on, each step twice as wide.

    Steps and not numbers, since degrees spread over orders of magnitude; and few of them, so that
    a later, bigger graph has the same features. What is beyond the last step belongs to it.
    """

    kind: ClassVar[str] = "degree"
    column: str = DEGREE
    steps: int = 2

    @classmethod
    def fit(cls, table: SourceTable) -> DegreeColumn:
        """As many steps as the highest degree needs."""
        return cls(steps=int(_step(table.frame[DEGREE].to_numpy()).max()) + 1)

    @property
    def names(self) -> tuple[str, ...]:
        """The highest degree of each step."""
        return tuple(f"degree<={2**step // 2}" for step in range(self.steps))

    def check(self) -> None:
        """Check that there is a step, and not more than degrees of 64 bits need."""
        expect(1 <= self.steps <= 66, "steps", "from 1 to 66", self.steps)

    def encode(self, table: SourceTable) -> EncodedColumn:
        """A feature for each step."""
        step = _step(table.frame[DEGREE].to_numpy()).clip(max=self.steps - 1)
        return EncodedColumn(np.eye(self.steps, dtype=np.float32)[step])


def _step(degree: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, 2, 3 to 4, 5 to 8, ... as 0, 1, 2, 3, 4, ..."""
    steps: NDArray[np.int64] = np.ceil(np.log2(degree.clip(min=0.5))).astype(np.int64)
    return steps + 1
