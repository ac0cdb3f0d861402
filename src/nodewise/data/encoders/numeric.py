"""Numbers: filled where missing, centered and scaled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nodewise.checked import expect
from nodewise.data.encoders.encoder import EncodedColumn, Encoder
from nodewise.data.options import Missing
from nodewise.data.sources.cells import numbers_in
from nodewise.data.sources.source import SourceTable, among

_FILL: dict[Missing, Callable[[NDArray[np.float64]], Any]] = {
    "mean": np.mean,
    "median": np.median,
    "zero": lambda _: 0.0,
}
_HUGE = 1e30  # features are float32
_WAY_OUT = "correct the cell, or leave the column out of the features"


@dataclass(frozen=True)
class NumericColumn(Encoder):
    """A column of numbers, (value - mean) / scale.

    Args:
        column: The column.
        fill: The value of an empty cell; None if that is an error.
        mean: The number that is subtracted.
        scale: The number that it is divided by.
    """

    kind: ClassVar[str] = "numeric"
    fill: float | None = None
    mean: float = 0.0
    scale: float = 1.0

    def check(self) -> None:
        """Check that the numbers fit, and that the scale is not zero."""
        for name in ("fill", "mean", "scale"):
            value = getattr(self, name) or 0.0
            expect(abs(value) <= _HUGE, name, f"at most {_HUGE:g}", value)
        expect(self.scale > 0, "scale", "above 0", self.scale)

    @classmethod
    def fit(cls, table: SourceTable, column: str, missing: Missing, scale: bool) -> NumericColumn:
        """Learn what to fill in and how to scale.

        A column of zeros and ones alone is left as it is: it has a sensible scale already, and
        bag-of-words stay sparse.

        Raises:
            TableError: A cell is not a number, or infinite, or empty though that is an error.
        """
        numbers = numbers_of(table, column)
        return cls.of_numbers(table, column, numbers, missing, scale)

    @classmethod
    def of_numbers(
        cls,
        table: SourceTable,
        column: str,
        numbers: NDArray[np.float64],
        missing: Missing,
        scale: bool,
    ) -> NumericColumn:
        """The same from the numbers of all rows; the table is for errors.

        Raises:
            TableError: A number is too large, or missing though that is an error.
        """
        given = numbers[~np.isnan(numbers)]
        if not given.size:
            raise table.error(
                "has no number at all", column=column, way_out="leave it out of the features"
            )
        fill = None if missing == "error" else float(_FILL[missing](given))
        plain = cls(column, fill)
        filled = plain.filled(table, numbers)
        if not scale or np.isin(given, (0.0, 1.0)).all():
            return plain
        mean, spread = float(filled.mean()), float(filled.std())
        # The deviation of a constant column is a rounding error.
        return cls(column, fill, mean, spread if spread > 1e-12 * abs(mean) else 1.0)

    @property
    def names(self) -> tuple[str, ...]:
        """The column's name."""
        return (self.column,)

    def encode(self, table: SourceTable) -> EncodedColumn:
        """One feature.

        Raises:
            TableError: A cell is not a number, or too large, or empty though that is an error.
        """
        given = numbers_of(table, self.column)
        scaled = (self.filled(table, given) - self.mean) / self.scale
        filling = "" if self.fill is None else f"{self.fill:.6g}"
        empty = int(np.isnan(given).sum())
        return EncodedColumn(scaled.astype(np.float32)[:, None], empty=empty, counts_as=filling)

    def filled(self, table: SourceTable, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The numbers with empty cells filled.

        Raises:
            TableError: One is empty though that is an error, or beyond what features can hold.
        """
        empty = np.isnan(numbers)
        if self.fill is None and empty.any():
            row = int(empty.argmax())
            written = table.written(row, self.column)
            raise table.error(
                f"{'counts as' if written else 'is'} empty{among(int(empty.sum()), 'cells')}",
                row=row,
                column=self.column,
                value=written,
                way_out="fill it in, or choose missing (--missing): mean, median or zero",
            )
        huge = np.abs(numbers) > _HUGE
        if huge.any():
            raise table.error(
                "is beyond what features can hold",
                row=int(huge.argmax()),
                column=self.column,
                value=float(numbers[huge.argmax()]),
                way_out=_WAY_OUT,
            )
        return np.where(empty, 0.0 if self.fill is None else self.fill, numbers)


def numbers_of(table: SourceTable, column: str) -> NDArray[np.float64]:
    """The numbers in a column of features, NaN where a cell is empty.

    Raises:
        TableError: A cell is not a number, or infinite.
    """
    return numbers_in(table, column, _WAY_OUT)
