"""What a summary says beside the numbers."""

from __future__ import annotations

import pandas as pd
import pytest

import nodewise as nw

NODES = pd.DataFrame(
    {"id": list("abcde"), "size": range(5), "venue": list("AAABB"), "topic": list("xyxyx")}
)
EDGES = pd.DataFrame({"source": list("abcd"), "target": list("bcde")})


def told(nodes: pd.DataFrame = NODES, edges: pd.DataFrame = EDGES, **options: object) -> str:
    return str(nw.from_pandas(nodes, edges, **{"label": "topic", **options}).summary)


@pytest.mark.parametrize("word", ["NA", "nan", "NaN", "null", "none", "N/a", "unknown"])
def test_a_name_that_looks_missing_is_told(word: str) -> None:
    nodes = NODES.replace({"topic": {"y": word}, "venue": {"A": word}})
    said = told(nodes)
    assert f"class {word!r} of 2 nodes looks like a missing value; say --unlabelled {word}" in said
    assert f"category {word!r} of 3 cells of column 'venue' looks like a missing value" in said
    assert "looks like" not in told()


def test_a_word_that_means_no_label_is_no_longer_told() -> None:
    nodes = NODES.assign(topic=["x", "y", "x", "y", "NA"])
    said = told(nodes, unlabelled="NA")
    assert "looks like" not in said and "1 node" in said
