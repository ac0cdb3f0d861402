"""Texts: bag-of-words or TF-IDF by scikit-learn, rebuilt from plain lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from nodewise.checked import expect
from nodewise.data.encoders.encoder import EncodedColumn, Encoder
from nodewise.data.options import TextAs
from nodewise.data.sources.source import SourceTable
from nodewise.errors import TableError


@dataclass(frozen=True)
class WordsColumn(Encoder):
    """A column of texts; an empty cell is a text without words.

    Args:
        column: The column.
        text_as: Counts of words, or TF-IDF: the rarer a word, the more it counts, rows of length 1.
        words: The vocabulary, in the order of the features.
        idf: For TF-IDF, each word's weight.
    """

    kind: ClassVar[str] = "text"
    text_as: TextAs = "tfidf"
    words: tuple[str, ...] = ()
    idf: tuple[float, ...] = ()

    @classmethod
    def fit(cls, table: SourceTable, column: str, text_as: TextAs, max_words: int) -> WordsColumn:
        """Learn the vocabulary: the most frequent words, `max_words` at most.

        Raises:
            TableError: There is no word of two letters or more in the column.
        """
        from sklearn.feature_extraction.text import (
            CountVectorizer,
            TfidfTransformer,
        )

        counter = CountVectorizer(max_features=max_words)
        try:
            counts = counter.fit_transform(_texts(table, column))
        except ValueError as error:  # scikit-learn's word for an empty vocabulary
            raise _no_words(table, column) from error
        idf = TfidfTransformer().fit(counts).idf_.tolist() if text_as == "tfidf" else ()
        return cls(column, text_as, tuple(counter.get_feature_names_out()), tuple(idf))

    @classmethod
    def of_blocks(
        cls, tables: Iterable[SourceTable], column: str, text_as: TextAs, max_words: int
    ) -> WordsColumn:
        """The same from a table in blocks; the vocabulary, not the texts, is in memory.

        Raises:
            TableError: There is no word of two letters or more in the column.
        """
        from sklearn.feature_extraction.text import CountVectorizer

        analyze = CountVectorizer().build_analyzer()
        counts: Counter[str] = Counter()
        texts_with: Counter[str] = Counter()
        rows, table = 0, None
        for table in tables:
            for text in _texts(table, column):
                words = Counter(analyze(text))
                counts.update(words)
                texts_with.update(words.keys())
                rows += 1
        if table is not None and not counts:
            raise _no_words(table, column)
        known = sorted(counts)
        if len(known) > max_words:
            # As scikit-learn does, so that words as frequent as the last one are the same.
            order = (-np.array([counts[word] for word in known])).argsort()[:max_words]
            known = [known[i] for i in np.sort(order)]
        return cls(column, text_as, tuple(known), _idf(rows, texts_with, known, text_as))

    def check(self) -> None:
        """Check that words are different, and that TF-IDF has a weight for each."""
        expect(len(set(self.words)) == len(self.words) > 0, "words", "different", len(self.words))
        wanted = len(self.words) if self.text_as == "tfidf" else 0
        expect(len(self.idf) == wanted, "idf", f"a list of {wanted}", len(self.idf))

    @property
    def names(self) -> tuple[str, ...]:
        """Each word behind the column's name."""
        return tuple(f"{self.column}:{word}" for word in self.words)

    def encode(self, table: SourceTable) -> EncodedColumn:
        """A feature for each word of the vocabulary."""
        texts, vectorizer = _texts(table, self.column), self._vectorizer()
        known, analyze = frozenset(self.words), vectorizer.build_analyzer()
        words = (word for text in texts for word in analyze(text))
        unknown = Counter(word for word in words if word not in known)
        return EncodedColumn(csr_matrix(vectorizer.transform(texts), dtype=np.float32), unknown)

    def _vectorizer(self) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

        if self.text_as == "bag":
            return CountVectorizer(vocabulary=self.words)
        vectorizer = TfidfVectorizer(vocabulary=self.words)
        vectorizer.idf_ = np.array(self.idf)
        return vectorizer


def _texts(table: SourceTable, column: str) -> list[str]:
    return list(table.frame[column].astype("str").fillna(""))


def _no_words(table: SourceTable, column: str) -> TableError:
    return table.error("has no words", column=column, way_out="leave it out of the texts")


def _idf(
    rows: int, texts_with: Mapping[str, int], words: Sequence[str], text_as: TextAs
) -> tuple[float, ...]:
    """Each word's weight, as scikit-learn computes it: from the texts that have the word."""
    if text_as != "tfidf":
        return ()
    idf = np.full(len(words), rows + 1.0)
    idf /= np.array([texts_with[word] for word in words], np.float64) + 1.0
    return tuple((np.log(idf) + 1.0).tolist())
