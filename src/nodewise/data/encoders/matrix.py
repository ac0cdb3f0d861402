"""Features that come as a matrix, and are taken as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nodewise.data.encoders.encoder import EncodedColumn, Encoder
from nodewise.data.sources.source import SourceTable


@dataclass(frozen=True)
class MatrixColumns(Encoder):
    """All features of an npz file or of a PyG graph.

    Args:
        column: What the features are called together.
        features: A name for each.
    """

    kind: ClassVar[str] = "matrix"
    column: str = "x"
    features: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """A column for each feature."""
        return self.features

    @property
    def names(self) -> tuple[str, ...]:
        """The names."""
        return self.features

    def encode(self, table: SourceTable) -> EncodedColumn:
        """The columns of these names."""
        return EncodedColumn(table.frame[list(self.features)].to_numpy(dtype=np.float32))
