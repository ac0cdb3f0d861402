"""Encoders against scikit-learn and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import StandardScaler

from nodewise.data.encoders.category import CategoryColumn
from nodewise.data.encoders.degree import DEGREE, DegreeColumn
from nodewise.data.encoders.numeric import NumericColumn
from nodewise.data.encoders.words import WordsColumn
from nodewise.data.sources.source import SourceTable
from nodewise.data.tables.preprocessing import encoder_from_dict
from nodewise.errors import TableError

TEXTS = [*load_iris().DESCR.split("\n"), *load_wine().DESCR.split("\n")]


def table(**columns: Any) -> SourceTable:
    return SourceTable("t", pd.DataFrame(columns), lambda row: f"row {row}")


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


def test_categories_are_one_hot_and_strangers_are_counted() -> None:
    encoder = CategoryColumn.fit(table(a=["b", "a", None]), "a", may_lack=True)
    block = encoder.encode(table(a=["a", "c", None, " b "]))
    assert encoder.names == ("a=a", "a=b") and block.unknown == {"c": 1}
    assert block.matrix.toarray().tolist() == [[1, 0], [0, 0], [0, 0], [0, 1]]


@pytest.mark.parametrize(
    ("text_as", "vectorizer"), [("bag", CountVectorizer), ("tfidf", TfidfVectorizer)]
)
def test_words_rebuilt_from_json_are_scikit_learns(text_as: Any, vectorizer: Any) -> None:
    fitted = WordsColumn.fit(table(a=TEXTS), "a", text_as, 100)
    encoder = encoder_from_dict(fitted.to_dict())
    expected = vectorizer(max_features=100).fit(TEXTS)
    later = table(a=[*TEXTS[:5], "iris of nowhere"])
    np.testing.assert_allclose(
        encoder.encode(later).matrix.toarray(),
        expected.transform(later.frame.a).toarray(),
        rtol=1e-6,
    )
    assert encoder.names == tuple(f"a:{word}" for word in expected.get_feature_names_out())


def test_words_that_are_not_known_are_counted() -> None:
    encoder = WordsColumn.fit(table(a=["red fox", "fox"]), "a", "bag", 9)
    later = table(a=["red red hen", "blue fox hen", None])
    assert encoder.encode(later).unknown == {"hen": 2, "blue": 1}


def test_degrees_step_by_powers_of_two() -> None:
    degrees = table(**{DEGREE: [0, 1, 2, 3, 4, 5, 8, 9]})
    encoder = DegreeColumn.fit(degrees)
    names = [encoder.names[i] for i in encoder.encode(degrees).matrix.argmax(1)]
    assert [int(name.removeprefix("degree<=")) for name in names] == [0, 1, 2, 4, 4, 8, 8, 16]
