"""Encoders by the name of their kind, which is what JSON remembers of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nodewise.data.encoders.category import CategoryColumn
from nodewise.data.encoders.degree import DegreeColumn
from nodewise.data.encoders.encoder import Encoder
from nodewise.data.encoders.matrix import MatrixColumns
from nodewise.data.encoders.numeric import NumericColumn
from nodewise.data.encoders.words import WordsColumn

_KINDS: Final[dict[str, type[Encoder]]] = {
    encoder.kind: encoder
    for encoder in (NumericColumn, CategoryColumn, WordsColumn, DegreeColumn, MatrixColumns)
}


def encoder_from_dict(content: Mapping[str, Any]) -> Encoder:
    """The encoder that `Encoder.to_dict` wrote.

    Raises:
        KeyError: There is no such kind.
        TypeError: Its fields are others.
    """
    # JSON has lists only; encoders hold tuples.
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in content.items()
    }
    return _KINDS[fields.pop("kind")](**fields)
