"""`Encoder`: the interface of encoders, which compute features from a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from nodewise.data.sources.source import SourceTable


@dataclass(frozen=True, eq=False)
class EncodedColumn:
    """Features made from a column.

    Args:
        matrix: A NumPy array or scipy CSR matrix (nodes, features), float32.
        unknown: The words or categories the encoder did not know and left out, and how often.
        empty: How many cells were empty.
        counts_as: The value that they count as.
        doubtful: Names that look like missing values, and how often they occur.
    """

    matrix: Any
    unknown: Mapping[str, int] = field(default_factory=dict)
    empty: int = 0
    counts_as: str = ""
    doubtful: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Encoder:
    """Makes the features of one column; its fields are plain data, and go to JSON as they are."""

    column: str
    kind: ClassVar[str]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads."""
        return (self.column,)

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each feature."""
        raise NotImplementedError

    def encode(self, table: SourceTable) -> EncodedColumn:
        """The features of every row.

        Raises:
            TableError: A cell cannot be encoded.
        """
        raise NotImplementedError

    def check(self) -> None:
        """Check what the types of the fields do not say; a file may say anything.

        Raises:
            Mismatch: A field cannot be right.
        """

    def to_dict(self) -> dict[str, Any]:
        """Its kind and fields, as plain data for JSON."""
        return {"kind": self.kind, **asdict(self)}
