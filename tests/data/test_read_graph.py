"""The same graph, however it is written down."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_iris
from sklearn.neighbors import kneighbors_graph

import nodewise as nw
from nodewise.data.checks import check_data
from nodewise.errors import InputError

NODES = pd.DataFrame(
    {
        "paper": ["p1", "p2", "p3", "p4", "p5"],
        "year": [1999, 2001, 2003, 2005, 2007],
        "cited": [1.5, 0.25, 4.0, 8.0, 0.5],
        "venue": ["A", "B, or C", "A", "B, or C", "A"],
        "topic": ["x", "y", "x", None, "y"],
    }
)
EDGES = pd.DataFrame({"citing": ["p1", "p2", "p1", "p4"], "cited": ["p2", "p3", "p3", "p1"]})


def write_csv(frame: pd.DataFrame, path: Path, **options: Any) -> None:
    frame.to_csv(path, index=False, **options)


WRITERS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    "csv": write_csv,
    "tsv": lambda frame, path: write_csv(frame, path, sep="\t"),
    "semicolon.csv": lambda frame, path: write_csv(frame, path, sep=";", decimal=","),
    "bom.csv": lambda frame, path: write_csv(frame, path, encoding="utf-8-sig"),
    "windows.csv": lambda frame, path: write_csv(frame, path, lineterminator="\r\n"),
    "csv.gz": write_csv,
    "parquet": lambda frame, path: frame.to_parquet(path),
}


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_gives_the_same_graph(ending: str, tmp_path: Path) -> None:
    nodes, edges = tmp_path / f"nodes.{ending}", tmp_path / f"edges.{ending}"
    WRITERS[ending](NODES, nodes)
    WRITERS[ending](EDGES, edges)
    graph = nw.read_graph(nodes, edges, label="topic")
    assert graph.ids == ("p1", "p2", "p3", "p4", "p5")
    assert graph.data.feature_names == ["year", "cited", "venue=A", "venue=B, or C"]
    assert graph.data.y.tolist() == [0, 1, 0, -1, 1] and graph.data.class_names == ["x", "y"]
    both = [[0, 0, 0, 1, 1, 2, 2, 3], [1, 2, 3, 0, 2, 0, 1, 0]]
    assert graph.data.edge_index.tolist() == both
    year = torch.tensor([-2.0, -1, 0, 1, 2]) / 2**0.5
    torch.testing.assert_close(graph.data.x[:, 0], year)
    assert graph.data.x[:, 2:].tolist() == [[1, 0], [0, 1], [1, 0], [0, 1], [1, 0]]
    assert graph.data.x.dtype == torch.float32
    check_data(graph.data)


def test_frames_give_the_same_graph_as_files(tmp_path: Path) -> None:
    write_csv(NODES, tmp_path / "nodes.csv")
    write_csv(EDGES, tmp_path / "edges.csv")
    files = nw.read_graph(tmp_path / "nodes.csv", tmp_path / "edges.csv", label="topic")
    indexed = nw.from_pandas(NODES.set_index("paper"), EDGES, label="topic")
    named = nw.read_graph(NODES, EDGES, id="paper", label="topic")
    for graph in (indexed, named):
        assert torch.equal(graph.data.x, files.data.x) and graph.ids == files.ids
        assert torch.equal(graph.data.edge_index, files.data.edge_index)


def test_ids_are_the_same_as_text_number_and_float() -> None:
    nodes = pd.DataFrame({"id": [1, 2, 3], "size": [0.0, 1.0, 1.0]})
    ends = pd.DataFrame({"source": ["1", " 2 "], "target": ["2", "3.0"]})
    floats = pd.DataFrame({"source": [1.0, 2.0], "target": [2.0, 3.0]})
    for edges in (ends, floats, [(1, 2), (2, 3)], np.array([[1, 2], [2, 3]])):
        graph = nw.read_graph(nodes, edges)
        assert graph.data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
        assert graph.ids == (1, 2, 3)


def test_NA_is_a_name_in_a_column_of_names(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("id,label,country\nNA,x,NA\nNone,y,DE\nnull,y,NA\n  z,x,DE\n")
    (tmp_path / "e.csv").write_text("source,target\nNA,None\nnull,z\n")
    graph = nw.read_graph(tmp_path / "n.csv", tmp_path / "e.csv")
    assert graph.ids == ("NA", "None", "null", "z")
    assert graph.data.feature_names == ["country=DE", "country=NA"]


def test_a_single_label_that_looks_missing_has_its_own_way_out() -> None:
    nodes = NODES.assign(topic=["x", "y", "x", "NA", "y"])
    with pytest.raises(InputError, match=r"a class of one node .*say --unlabeled NA"):
        nw.read_graph(nodes, EDGES, id="paper", label="topic")


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "frame"])
def test_a_missing_number_is_quoted_as_it_is_written(ending: str, tmp_path: Path) -> None:
    nodes: Any = NODES.assign(year=["1", "2", "NA", "", "3"])
    if ending != "frame":
        nodes, frame = tmp_path / f"nodes.{ending}", nodes
        write_csv(frame, nodes)
    with pytest.raises(InputError, match=r"'year': counts as empty, one of 2 .*\(found 'NA'\)"):
        nw.read_graph(nodes, EDGES, id="paper", label="topic")


def test_a_missing_weight_is_quoted_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target,w\n0,1,1\n1,2,NA\n")
    with pytest.raises(InputError, match=r"a weight must be there.*\(found 'NA'\)"):
        nw.read_graph(edges=tmp_path / "edges.csv", weight="w")


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


def test_a_split_column_becomes_masks() -> None:
    nodes = NODES.assign(split=["Train", "valid", "testing", "test", None])
    graph = nw.read_graph(nodes, EDGES, id="paper", label="topic")
    masks = (graph.data.train_mask, graph.data.val_mask, graph.data.test_mask)
    assert [mask.nonzero().ravel().tolist() for mask in masks] == [[0], [1], [2]]
    assert "1 test node has no label" in str(graph.summary)
    assert graph.summary.split == {"train": 1, "val": 1, "test": 1}


def test_words_that_mean_no_label() -> None:
    graph = nw.read_graph(
        NODES.fillna({"topic": "?"}), EDGES, id="paper", label="topic", unlabeled="?"
    )
    assert graph.data.y.tolist() == [0, 1, 0, -1, 1] and graph.summary.unlabeled == 1


def test_classes_that_are_numbers_sort_as_numbers() -> None:
    nodes = pd.DataFrame({"id": range(6), "label": [10.0, 9.0, None, 10.0, 9.0, 9.0]})
    graph = nw.read_graph(nodes, [(0, 1), (2, 3), (4, 5)])
    assert graph.data.class_names == ["9", "10"] and graph.data.y.tolist() == [1, 0, -1, 1, 0, 0]


def test_iris_as_a_neighbor_graph_keeps_its_numbers(tmp_path: Path) -> None:
    iris = load_iris(as_frame=True)
    iris.frame["species"] = iris.target_names[iris.target]
    iris.frame.drop(columns="target").to_parquet(tmp_path / "iris.parquet")
    pairs = np.stack(kneighbors_graph(iris.data, 5).nonzero(), axis=1)
    nodes = pd.read_parquet(tmp_path / "iris.parquet")
    graph = nw.read_graph(nodes, pairs, label="species")
    expected = (iris.data - iris.data.mean()) / iris.data.std(ddof=0)
    np.testing.assert_allclose(graph.data.x.numpy(), expected.to_numpy(), atol=1e-5)
    assert graph.summary.labels == {"setosa": 50, "versicolor": 50, "virginica": 50}
    split, _ = nw.sensible_split(graph.data.y)
    check_data(split.apply(graph.data))


def test_a_later_table_becomes_the_same_features(tmp_path: Path) -> None:
    text = {"text": "words", "missing": "mean"}
    first = NODES.assign(words=["red fox", "red hen", "", "blue fox", "hen hen"])
    graph = nw.read_graph(first, EDGES, id="paper", label="topic", **text)
    graph.preprocessing.save(tmp_path / "preprocessing.json")
    later = pd.concat([first, first.assign(paper=[f"q{i}" for i in range(5)])])
    later = later.drop(columns="topic")
    later.loc[later.paper == "q0", ["venue", "words", "year"]] = ["Z", "green red", np.nan]
    later.to_csv(tmp_path / "later.csv", index=False)
    EDGES.to_csv(tmp_path / "edges.csv", index=False)
    stored = nw.Preprocessing.load(tmp_path / "preprocessing.json")
    again = nw.read_graph(tmp_path / "later.csv", tmp_path / "edges.csv", preprocessing=stored)
    assert again.data.feature_names == graph.data.feature_names
    assert again.data.class_names == ["x", "y"] and (again.data.y == -1).all()
    torch.testing.assert_close(again.data.x[:5], graph.data.x, rtol=0, atol=0)
    changed = dict(zip(again.data.feature_names, again.data.x[5].tolist(), strict=True))
    assert changed["year"] == 0 and changed["venue=A"] == changed["venue=B, or C"] == 0
    assert changed["words:red"] == 1
    text = str(again.summary)
    assert "1 category of column 'venue' is not known, and left out: 'Z' 1 time" in text
    assert "1 word of column 'words' is not known, and left out: 'green' 1 time" in text


def test_a_category_that_looks_like_a_number_stays_a_name_in_a_later_table(tmp_path: Path) -> None:
    codes = NODES.assign(code=["007", "B", "C", "B", "007"]).drop(columns="topic")
    graph = nw.read_graph(codes, EDGES, id="paper", features="code")
    codes.assign(code="007").to_csv(tmp_path / "later.csv", index=False)
    again = nw.read_graph(tmp_path / "later.csv", EDGES, preprocessing=graph.preprocessing)
    assert again.data.feature_names == ["code=007", "code=B", "code=C"]
    assert again.data.x.tolist() == [[1, 0, 0]] * 5


def test_a_label_of_no_known_class_counts_as_none() -> None:
    graph = nw.read_graph(NODES, EDGES, id="paper", label="topic")
    later = NODES.assign(topic=["x", "new", "y", None, "x"])
    again = nw.read_graph(later, EDGES, preprocessing=graph.preprocessing)
    assert again.data.y.tolist() == [0, -1, 1, -1, 0]
    assert "1 label is of no known class" in str(again.summary)


def test_the_summary_tells_what_was_read_and_what_was_not(tmp_path: Path) -> None:
    nodes = pd.DataFrame({"id": range(60), "label": ["x", "y"] * 30, "v": range(60)})
    nodes["title"] = [f"title {i}" for i in range(60)]
    nodes["empty"] = None
    nodes.to_csv(tmp_path / "nodes.csv")  # with the index, as people do
    edges = pd.DataFrame({"a": range(59), "b": range(1, 60), "since": 1999})
    graph = nw.read_graph(tmp_path / "nodes.csv", edges)
    assert graph.summary.features == {"numeric": (["v"], 1)}
    page = str(graph.summary)
    for part in (
        "60, 0 of them without an edge",
        "59, undirected",
        "x 30, y 30; 0 nodes without",
        "1: 1 numeric from 'v'",
        "column '(unnamed 1)' has no name",
        "column 'title' has 60 distinct texts",
        "column 'empty' is empty",
        "columns of edges not used: 'since'",
    ):
        assert part in page


def test_an_empty_list_of_features_takes_the_degrees() -> None:
    graph = nw.read_graph(NODES, EDGES, id="paper", label="topic", features=[])
    assert all(name.startswith("degree") for name in graph.data.feature_names)


def test_features_that_are_asked_for_come_in_their_order() -> None:
    graph = nw.read_graph(NODES, EDGES, id="paper", features=["venue", "year"], scale=False)
    assert graph.data.feature_names == ["venue=A", "venue=B, or C", "year"]
    assert graph.data.x[:, 2].tolist() == [1999, 2001, 2003, 2005, 2007]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"nodes": NODES}, "edges"),
        ({"nodes": 7, "edges": EDGES}, "nodes"),
        ({"edges": EDGES, "label": "topic"}, "nodes"),
        ({"nodes": NODES, "edges": EDGES, "missing": "average"}, "missing"),
        ({"nodes": NODES, "edges": EDGES, "text_as": "bert"}, "text_as"),
        ({"nodes": NODES, "edges": EDGES, "max_vocabulary": 0}, "max_vocabulary"),
        ({"nodes": NODES, "edges": [1, 2, 3]}, "edges"),
        ({"nodes": NODES.set_axis(list("aabcd"), axis=1), "edges": EDGES}, "nodes, column 'a'"),
        ({"nodes": NODES[:0], "edges": EDGES}, "nodes"),
    ],
)
def test_arguments_that_cannot_be(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        nw.read_graph(**arguments)
    assert caught.value.field == field and caught.value.way_out


def test_features_are_not_asked_for_twice() -> None:
    fitted = nw.read_graph(NODES, EDGES, id="paper", label="topic").preprocessing
    with pytest.raises(InputError, match="fixed by the preprocessing"):
        nw.read_graph(NODES, EDGES, features="year", preprocessing=fitted)


def test_a_gzip_is_known_by_its_bytes_not_its_name(tmp_path: Path) -> None:
    stream = io.BytesIO()
    EDGES.to_csv(stream, index=False)
    (tmp_path / "edges.csv").write_bytes(gzip.compress(stream.getvalue()))
    assert nw.read_graph(edges=tmp_path / "edges.csv").summary.edges == 4


@pytest.mark.slow
def test_a_million_edges_take_ten_seconds_at_most(tmp_path: Path) -> None:
    from time import process_time  # others may be at work on the machine, too

    ends = np.random.default_rng(0).integers(200_000, size=(1_000_000, 2))
    lines = "\n".join(f"n{source},n{target}" for source, target in ends)
    (tmp_path / "edges.csv").write_text(f"source,target\n{lines}\n")
    nw.read_graph(edges=EDGES)  # imports
    started = process_time()
    graph = nw.read_graph(edges=tmp_path / "edges.csv")
    assert process_time() - started < 10 and graph.summary.edges > 990_000
