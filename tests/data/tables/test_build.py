"""Two tables become one graph."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import nodewise as nw
from tests.data.test_read_graph import EDGES, NODES


def test_isolated_nodes_stay_and_repeats_and_loops_go() -> None:
    nodes = pd.DataFrame({"id": list("abcd"), "v": [1, 2, 3, 4]})
    edges = pd.DataFrame({"s": list("aabbc"), "t": list("bbaac")})
    graph = nw.read_graph(nodes, edges, source="s", target="t")
    assert graph.data.edge_index.tolist() == [[0, 1], [1, 0]] and graph.data.num_nodes == 4
    assert graph.summary.isolated == 2 and graph.summary.edges == 1
    assert graph.summary.dropped == {
        "self-loops": 1,
        "repeated edges": 2,
        "edges listed in both directions": 1,
    }


def test_a_directed_graph_keeps_directions_and_weights() -> None:
    edges = pd.DataFrame({"source": [2, 0, 1], "target": [0, 1, 0], "w": [3.0, 1.0, 2.0]})
    graph = nw.read_graph(edges=edges, directed=True, weight="w")
    assert graph.data.edge_index.tolist() == [[0, 1, 2], [1, 0, 0]]
    assert graph.data.edge_weight.tolist() == [1, 2, 3]


def test_an_undirected_edge_has_its_first_weight_both_ways() -> None:
    edges = pd.DataFrame({"source": [2, 0, 1], "target": [0, 1, 0], "w": [3.0, 1.0, 2.0]})
    graph = nw.read_graph(edges=edges, weight="w")
    assert graph.data.edge_index.tolist() == [[0, 0, 1, 2], [1, 2, 0, 0]]
    assert graph.data.edge_weight.tolist() == [1, 3, 1, 3]


@pytest.mark.parametrize(
    "text",
    ["0\t10\n10\t9\n", "0 10\n10 9\n", "# a comment\n# another\n0,10\n10,9\n", "a;b\n0;10\n10;9\n"],
    ids=["tabs", "spaces", "comments", "header"],
)
def test_an_edge_list_alone_has_sorted_nodes_and_degrees_as_features(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "edges.txt").write_text(text)
    graph = nw.read_graph(edges=tmp_path / "edges.txt")
    assert graph.ids == ("0", "9", "10")
    assert graph.data.feature_names == ["degree<=0", "degree<=1", "degree<=2"]
    assert graph.data.x.tolist() == [[0, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert graph.data.y.tolist() == [-1, -1, -1]
    assert "degree" in str(graph.summary)


def test_an_empty_list_of_features_takes_the_degrees() -> None:
    graph = nw.read_graph(NODES, EDGES, id="paper", label="topic", features=[])
    assert all(name.startswith("degree") for name in graph.data.feature_names)


def test_features_that_are_asked_for_come_in_their_order() -> None:
    graph = nw.read_graph(NODES, EDGES, id="paper", features=["venue", "year"], scale=False)
    assert graph.data.feature_names == ["venue=A", "venue=B, or C", "year"]
    assert graph.data.x[:, 2].tolist() == [1999, 2001, 2003, 2005, 2007]
