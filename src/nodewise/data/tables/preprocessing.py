"""`Preprocessing`: computes the features of a table, and the same ones for later tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypedDict

import numpy as np
from scipy import sparse
from torch import Tensor

from nodewise.checked import checked, expect
from nodewise.data.encoders.category import CategoryColumn
from nodewise.data.encoders.degree import DegreeColumn
from nodewise.data.encoders.encoder import Encoder
from nodewise.data.encoders.matrix import MatrixColumns
from nodewise.data.encoders.numeric import NumericColumn
from nodewise.data.encoders.words import WordsColumn
from nodewise.data.features import to_tensor
from nodewise.data.options import Roles
from nodewise.data.sources.open_source import FrameSource
from nodewise.data.sources.source import SourceTable
from nodewise.errors import InputError
from nodewise.io import file_bytes, parse_json, replacing

_FORMAT: Final = "nodewise preprocessing 1"
KINDS: Final[dict[str, type[Encoder]]] = {
    encoder.kind: encoder
    for encoder in (NumericColumn, CategoryColumn, WordsColumn, DegreeColumn, MatrixColumns)
}


class PreprocessingContent(TypedDict):
    """A preprocessing as JSON."""

    format: Literal["nodewise preprocessing 1"]
    roles: Roles
    directed: bool
    class_names: list[str]
    encoders: list[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """The features of a table.

    Args:
        matrix: A NumPy array or scipy CSR matrix (nodes, features), float32.
        unknown: Words or categories without a feature, and how often they occur, by column.
        empty: How many cells were empty, and what they count as, by column.
        doubtful: Names that look like missing values, and how often they occur, by column.
    """

    matrix: Any
    unknown: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    empty: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    doubtful: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Preprocessing:
    """Vocabularies, categories, fillings, scales and columns, as plain data.

    Args:
        encoders: The encoders of the columns, in the order of their features.
        class_names: The classes, in their order.
        roles: Which columns are the id, the label, the ends of edges.
        directed: Whether edges have a direction.
    """

    encoders: tuple[Encoder, ...]
    class_names: tuple[str, ...] = ()
    roles: Roles = field(default_factory=Roles)
    directed: bool = False

    @property
    def feature_names(self) -> tuple[str, ...]:
        """A name for each feature."""
        return tuple(name for encoder in self.encoders for name in encoder.names)

    def transform(self, frame: Any, *, sparse: bool | None = None) -> Tensor:
        """The features of a pandas frame with the same columns, shape (rows, features), float32.

        Args:
            frame: The nodes.
            sparse: Whether to give a `torch.sparse_csr` tensor; None decides by density and size.

        Raises:
            TableError: A column is not there, or a cell cannot be read as before.
        """
        return to_tensor(self.encode(FrameSource("nodes", frame).read(())).matrix, sparse)

    def encode(self, table: SourceTable) -> EncodedTable:
        """The features of a table, and its unknown words and categories.

        Raises:
            TableError: A column is not there, or a cell cannot be read as before.
        """
        for encoder in self.encoders:
            _check_columns(table, encoder)
        blocks = [encoder.encode(table) for encoder in self.encoders]
        names = [encoder.column for encoder in self.encoders]
        by_name = dict(zip(names, blocks, strict=True))
        unknown = {name: block.unknown for name, block in by_name.items() if block.unknown}
        empty = {n: (block.empty, block.counts_as) for n, block in by_name.items() if block.empty}
        doubtful = {name: block.doubtful for name, block in by_name.items() if block.doubtful}
        return EncodedTable(_hstack([block.matrix for block in blocks]), unknown, empty, doubtful)

    def to_json(self) -> str:
        """The preprocessing as JSON."""
        content = {
            "format": _FORMAT,
            "roles": asdict(self.roles),
            "directed": self.directed,
            "class_names": self.class_names,
            "encoders": [encoder.to_dict() for encoder in self.encoders],
        }
        return json.dumps(content, ensure_ascii=False)

    @classmethod
    def from_json(cls, content: str | bytes) -> Preprocessing:
        """The preprocessing that `to_json` wrote.

        Raises:
            InputError: It is something else.
        """
        try:
            fields = checked(PreprocessingContent, parse_json(content))
            return cls(
                encoders=tuple(encoder_from_dict(encoder) for encoder in fields["encoders"]),
                class_names=tuple(fields["class_names"]),
                roles=fields["roles"],
                directed=fields["directed"],
            )
        except ValueError as error:
            raise InputError(
                "preprocessing",
                f"cannot be read ({error})",
                way_out="give what Preprocessing.save wrote",
            ) from error

    def save(self, path: str | Path) -> None:
        """Write it to a file, completely or not at all."""
        with replacing(Path(path)) as stream:
            stream.write(self.to_json().encode() + b"\n")

    @classmethod
    def load(cls, path: str | Path) -> Preprocessing:
        """The preprocessing that `save` wrote.

        Raises:
            InputError: The file is not there, or is something else.
        """
        try:
            content = file_bytes(Path(path))
        except OSError as error:
            raise InputError(
                str(path), f"cannot be read ({error})", way_out="name a file of Preprocessing.save"
            ) from error
        return cls.from_json(content)


def encoder_from_dict(content: Mapping[str, Any]) -> Encoder:
    """The encoder that `Encoder.to_dict` wrote.

    Raises:
        Mismatch: There is no such kind, or its fields are others.
    """
    fields = dict(content)
    kind = fields.pop("kind", None)
    expect(isinstance(kind, str) and kind in KINDS, "encoders.kind", " or ".join(KINDS), kind)
    encoder = checked(KINDS[str(kind)], fields, f"encoders.{kind}")
    encoder.check()
    return encoder


def _check_columns(table: SourceTable, encoder: Encoder) -> None:
    absent = next((name for name in encoder.columns if name not in table.frame), None)
    if absent is not None:
        raise table.error(
            "was a feature when the model was fitted, and is not here",
            column=absent,
            way_out="give a table with the same columns",
        )


def _hstack(blocks: list[Any]) -> Any:
    if any(sparse.issparse(block) for block in blocks):
        return sparse.hstack([sparse.csr_matrix(block) for block in blocks], format="csr")
    return np.concatenate(blocks, axis=1)
