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
    assert f"class {word!r} of 2 nodes looks like a missing value; say --unlabeled {word}" in said
    assert f"category {word!r} of 3 cells of column 'venue' looks like a missing value" in said
    assert "looks like" not in told()


def test_a_word_that_means_no_label_is_no_longer_told() -> None:
    nodes = NODES.assign(topic=["x", "y", "x", "y", "NA"])
    said = told(nodes, unlabeled="NA")
    assert "looks like" not in said and "1 node" in said


def test_weights_that_disagree_are_told() -> None:
    edges = pd.DataFrame(
        {"source": list("abab"), "target": list("babc"), "w": [1.0, 2.0, 1.0, 4.0]}
    )
    assert "1 repeated edge has another weight than the first; the first" in told(
        edges=edges, weight="w"
    )
    assert "another weight" not in told(edges=edges)
    assert "another weight" not in told(edges=edges.assign(w=1.0), weight="w")


def test_one_is_told_as_one() -> None:
    nodes = NODES.assign(size=[1.0, 2.0, None, 4.0, 5.0], topic=["x", "y", "x", "y", None])
    edges = pd.DataFrame({"source": list("aaabc"), "target": list("abbac")})
    said = told(nodes, edges, missing="mean")
    assert "dropped   2 self-loops, 1 repeated edge, 1 edge listed in both directions" in said
    assert "1 empty cell of column 'size' taken for 3" in said
    assert "; 1 node without, to be predicted" in said
    assert "dropped   1 self-loop, 1 repeated edge" in told(nodes, edges[:3], missing="mean")


def test_a_graph_is_one_short_line() -> None:
    graph = nw.from_pandas(NODES, EDGES, label="topic")
    assert repr(graph) == "GraphTable(nodes=5, edges=4, features=3, classes=2)"
