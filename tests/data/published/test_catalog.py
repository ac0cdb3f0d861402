"""The table of data sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from nodewise.data.published.catalog import DATASETS, Dataset, GraphSizes, find_dataset
from nodewise.data.published.readers import RawGraph
from nodewise.errors import RawFileError, UnknownNameError


def test_every_address_is_https_and_every_file_has_a_digest() -> None:
    files = [file for dataset in DATASETS.values() for file in dataset.files]
    assert len(files) == 24
    for file in files:
        assert file.url.startswith("https://github.com/") and file.url.endswith("/" + file.name)
        assert len(bytes.fromhex(file.sha256)) == 32


def test_a_data_set_is_found_under_its_name_and_an_unknown_one_names_the_nearest() -> None:
    assert all(find_dataset(name).name == name for name in DATASETS)
    with pytest.raises(UnknownNameError, match="chameleon"):
        find_dataset("chamaeleon")


def three_nodes() -> RawGraph:
    edges = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    return RawGraph(csr_matrix(np.eye(3, 5)), edges, np.array([0, 1, -1]))


def test_an_edge_and_its_reverse_count_once() -> None:
    assert GraphSizes.of(three_nodes()) == GraphSizes(nodes=3, edges=2, features=5, classes=2)


def test_a_graph_of_other_sizes_is_refused_and_class_names_are_added(tmp_path: Path) -> None:
    sizes = GraphSizes(3, 2, 5, 2)
    right = Dataset("x", "https://home", lambda _: three_nodes(), counts=sizes)
    assert right.graph(tmp_path).class_names is None and right.present(tmp_path)
    named = Dataset("x", "https://home", lambda _: three_nodes(), class_names=("a", "b"))
    assert named.graph(tmp_path).class_names == ("a", "b")
    wrong = GraphSizes(4, 2, 5, 2)
    with pytest.raises(RawFileError, match=r"should hold GraphSizes\(nodes=4"):
        Dataset("x", "https://home", lambda _: three_nodes(), counts=wrong).graph(tmp_path)
