"""Columns of numbers, against scikit-learn and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from nodewise.data.encoders.numeric import NumericColumn
from nodewise.errors import TableError
from tests.data.encoders.columns import table


def test_numbers_are_scaled_as_scikit_learn_scales_them() -> None:
    wine = load_wine().data[:, 12]
    encoder = NumericColumn.fit(table(a=wine), "a", "error", scale=True)
    expected = StandardScaler().fit_transform(wine[:, None])
    np.testing.assert_allclose(encoder.encode(table(a=wine)).matrix, expected, atol=1e-6)


@pytest.mark.parametrize(("missing", "fill"), [("mean", 4.0), ("median", 3.0), ("zero", 0.0)])
def test_an_empty_cell_is_filled(missing: Any, fill: float) -> None:
    given = table(a=[2.0, None, 3.0, 7.0])
    encoder = NumericColumn.fit(given, "a", missing, scale=False)
    assert encoder.fill == fill and encoder.encode(given).matrix[1, 0] == fill


def test_zeros_and_ones_and_constants_keep_a_sensible_scale() -> None:
    binary, constant = table(a=[0, 1, 1]), table(a=[0.1] * 7)
    encoder = NumericColumn.fit(binary, "a", "error", scale=True)
    assert encoder.encode(binary).matrix.ravel().tolist() == [0, 1, 1]
    flat = NumericColumn.fit(constant, "a", "error", scale=True).encode(constant).matrix
    assert np.abs(flat).max() < 1e-6


def test_a_column_of_numbers_without_one() -> None:
    with pytest.raises(TableError, match="no number at all"):
        NumericColumn.fit(table(a=[None, None]), "a", "mean", scale=True)
