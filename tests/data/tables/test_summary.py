"""What a summary says beside the numbers."""

from __future__ import annotations

import pandas as pd
import pytest

import nodewise as nw

NODES = pd.DataFrame(
    {"id": list("abcde"), "size": range(5), "venue": list("AAABB"), "topic": list("xyxyx")}
)
EDGES = pd.DataFrame({"source": list("abcd"), "target": list("bcde")})


def summary_of(nodes: pd.DataFrame = NODES, edges: pd.DataFrame = EDGES, **options: object) -> str:
    return str(nw.from_pandas(nodes, edges, **{"label": "topic", **options}).summary)


@pytest.mark.parametrize("word", ["NA", "nan", "NaN", "null", "none", "N/a", "unknown"])
def test_a_name_that_looks_missing_is_reported(word: str) -> None:
    nodes = NODES.replace({"topic": {"y": word}, "venue": {"A": word}})
    text = summary_of(nodes)
    assert f"class {word!r} of 2 nodes looks like a missing value; say --unlabeled {word}" in text
    assert f"category {word!r} of 3 cells of column 'venue' looks like a missing value" in text
    assert "looks like" not in summary_of()


def test_a_word_that_means_no_label_is_no_longer_reported() -> None:
    nodes = NODES.assign(topic=["x", "y", "x", "y", "NA"])
    text = summary_of(nodes, unlabeled="NA")
    assert "looks like" not in text and "1 node" in text


def test_weights_that_disagree_are_reported() -> None:
    edges = pd.DataFrame(
        {"source": list("abab"), "target": list("babc"), "w": [1.0, 2.0, 1.0, 4.0]}
    )
    assert "1 repeated edge has another weight than the first; the first" in summary_of(
        edges=edges, weight="w"
    )
    assert "another weight" not in summary_of(edges=edges)
    assert "another weight" not in summary_of(edges=edges.assign(w=1.0), weight="w")


def test_one_has_the_singular() -> None:
    nodes = NODES.assign(size=[1.0, 2.0, None, 4.0, 5.0], topic=["x", "y", "x", "y", None])
    edges = pd.DataFrame({"source": list("aaabc"), "target": list("abbac")})
    text = summary_of(nodes, edges, missing="mean")
    assert "dropped   2 self-loops, 1 repeated edge, 1 edge listed in both directions" in text
    assert "1 empty cell of column 'size' taken for 3" in text
    assert "; 1 node without, to be predicted" in text
    assert "dropped   1 self-loop, 1 repeated edge" in summary_of(nodes, edges[:3], missing="mean")


def test_a_graph_is_one_short_line() -> None:
    graph = nw.from_pandas(NODES, EDGES, label="topic")
    assert repr(graph) == "GraphTable(nodes=5, edges=4, features=3, classes=2)"
