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
    split = nw.stratified_split(graph.data.y)
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
