from __future__ import annotations

from nodewise.data.encoders.category import CategoryColumn
from tests.data.encoders.columns import table


def test_categories_are_one_hot_and_strangers_are_counted() -> None:
    encoder = CategoryColumn.fit(table(a=["b", "a", None]), "a", may_lack=True)
    block = encoder.encode(table(a=["a", "c", None, " b "]))
    assert encoder.names == ("a=a", "a=b") and block.unknown == {"c": 1}
    assert block.matrix.toarray().tolist() == [[1, 0], [0, 0], [0, 0], [0, 1]]
