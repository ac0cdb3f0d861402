"""Features, labels and ids of a table, written block by block."""

from __future__ import annotations

import numpy as np
import pytest

import nodewise as nw
from tests.data.streaming.same_store import assert_same, tables, write

pytestmark = pytest.mark.usefixtures("small_blocks")


def test_a_split_is_that_of_its_column() -> None:
    nodes, edges = tables()
    parts = np.random.default_rng(2).choice(["train", "Val", "test", ""], 300)
    nodes["split"] = np.where(nodes["topic"] == "", np.where(parts == "test", "test", ""), parts)
    store = assert_same(write(nodes, edges), label="topic")
    assert store.split is not None and len(store.split.val) > 20


def test_later_tables_are_encoded_as_the_first() -> None:
    fitted = nw.read_graph(*write(*tables()), label="topic", text="about").preprocessing
    nodes, edges = tables(seed=3)
    nodes.loc[5, "kind"] = "violet"
    nodes["topic"] = nodes["topic"].replace("art", "music")
    store = assert_same(write(nodes, edges), fitted)
    assert store.classes == ("art", "math", "physics")


def test_ids_keep_their_type() -> None:
    nodes, edges = tables()
    number = {name: int(name[1:]) for name in nodes["name"]}
    nodes["name"] = nodes["name"].map(number)
    for end in ("source", "target"):
        edges[end] = edges[end].map(number)
    assert assert_same(write(nodes, edges, "parquet"), label="topic").meta["ids"] == "integers"
    nodes = nodes.sort_values("name")
    assert assert_same(write(nodes, edges, "parquet"), label="topic").meta["ids"] == "numbers"
    assert assert_same(write(nodes, edges), label="topic").meta["ids"] == "texts"
