"""Names, labels and splits in a table of nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nodewise as nw
from nodewise.errors import InputError
from tests.data.test_read_graph import EDGES, NODES


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


def test_a_label_of_no_known_class_counts_as_none() -> None:
    graph = nw.read_graph(NODES, EDGES, id="paper", label="topic")
    later = NODES.assign(topic=["x", "new", "y", None, "x"])
    again = nw.read_graph(later, EDGES, preprocessing=graph.preprocessing)
    assert again.data.y.tolist() == [0, -1, 1, -1, 0]
    assert "1 label is of no known class" in str(again.summary)
