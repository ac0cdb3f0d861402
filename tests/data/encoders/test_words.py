"""Columns of texts, against scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from nodewise.data.encoders.words import WordsColumn
from nodewise.data.tables.preprocessing import encoder_from_dict
from tests.data.encoders.columns import table

TEXTS = [*load_iris().DESCR.split("\n"), *load_wine().DESCR.split("\n")]


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
