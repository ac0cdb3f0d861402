"""What was learned from one table is applied to the next, by way of JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import nodewise as nw
from nodewise.errors import InputError, TableError

NODES = pd.DataFrame(
    {
        "id": range(6),
        "age": [1.0, None, 3.0, 4.0, 5.0, 7.0],
        "club": ["a", "b", None, "a", "b", "a"],
        "words": ["Red fox", "red hen", "", "fox, fox!", None, "ünïcode hen"],
        "topic": list("xyxyxy"),
    }
)
EDGES = [(i, i + 1) for i in range(5)]


@pytest.mark.parametrize("text_as", ["tfidf", "bag"])
@pytest.mark.parametrize("missing", ["mean", "median", "zero"])
def test_json_there_and_back_transforms_alike(text_as: str, missing: str) -> None:
    graph = nw.from_pandas(
        NODES, EDGES, label="topic", text="words", text_as=text_as, missing=missing
    )
    content = graph.preprocessing.to_json()
    again = nw.Preprocessing.from_json(content)
    assert again == graph.preprocessing and again.to_json() == content
    assert torch.equal(again.transform(NODES), graph.data.x)
    assert torch.equal(again.transform(NODES[3:4]), graph.data.x[3:4])


def test_the_json_is_plain() -> None:
    graph = nw.from_pandas(NODES, EDGES, label="topic", text="words", missing="zero")
    fields = json.loads(graph.preprocessing.to_json())
    assert fields["class_names"] == ["x", "y"] and fields["roles"]["label"] == "topic"
    numeric, categorical, words = fields["encoders"]
    assert numeric["fill"] == 0 and categorical["categories"] == ["a", "b"]
    assert words["words"] == ["fox", "hen", "red", "ünïcode"] and len(words["idf"]) == 4


def test_a_later_cell_may_be_empty_only_if_the_first_might() -> None:
    full = NODES.dropna(subset="age").drop(columns=["club", "words"])
    fitted = nw.from_pandas(full, [(0, 2), (3, 4)], label="topic").preprocessing
    with pytest.raises(TableError, match=r"nodes, row 1, column 'age': is empty"):
        fitted.transform(NODES)


def test_a_later_table_must_have_the_columns() -> None:
    fitted = nw.from_pandas(NODES, EDGES, label="topic", features="age", missing="mean")
    with pytest.raises(TableError, match=r"column 'age'.*is not here"):
        fitted.preprocessing.transform(NODES.drop(columns="age"))


def test_sparse_features_are_the_same_numbers() -> None:
    graph = nw.from_pandas(NODES, EDGES, label="topic", text="words", missing="mean")
    sparse = graph.preprocessing.transform(NODES, sparse=True)
    assert sparse.layout == torch.sparse_csr and torch.equal(sparse.to_dense(), graph.data.x)


def test_a_wide_bag_of_words_is_sparse_by_itself() -> None:
    words = [f"word{i} word{i + 1}" for i in range(1200)]
    nodes = pd.DataFrame({"id": range(1200), "words": words})
    graph = nw.from_pandas(nodes, [(0, 1)], text="words")
    assert graph.data.x.layout == torch.sparse_csr and graph.data.x.shape == (1200, 1201)
    few = nw.from_pandas(nodes, [(0, 1)], text="words", max_vocabulary=7)
    assert few.data.x.layout == torch.strided and few.data.num_features == 7


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "other"}', "null", "7"])
def test_what_is_no_preprocessing_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(content)
    with pytest.raises(InputError, match=r"Preprocessing\.save"):
        nw.Preprocessing.load(tmp_path / "p.json")


def test_an_unknown_kind_is_refused() -> None:
    fitted = nw.from_pandas(NODES, EDGES, label="topic", features="age", missing="mean")
    content = fitted.preprocessing.to_json().replace('"numeric"', '"magic"')
    with pytest.raises(InputError, match="magic"):
        nw.Preprocessing.from_json(content)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json"):
        nw.Preprocessing.load(tmp_path / "none.json")


def test_degrees_of_a_bigger_graph_stay_within_the_steps() -> None:
    graph = nw.read_graph(edges=[(0, 1), (1, 2)])
    star = [(0, i) for i in range(1, 50)]
    later = nw.read_graph(edges=star, preprocessing=graph.preprocessing)
    assert later.data.num_features == graph.data.num_features == 3
    assert later.data.x[0].tolist() == [0, 0, 1] and np.allclose(later.data.x.sum(1), 1)
