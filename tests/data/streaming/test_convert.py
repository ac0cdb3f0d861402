"""A table that is streamed into a store gives, file by file, the bytes that it gives in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nodewise as nw
from nodewise.data.stores.store import GraphStore
from nodewise.data.streaming.budget import Budget
from nodewise.errors import GraphError, InputError, TableError
from tests.data.streaming.same_store import assert_same, convert, tables, write

pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "parquet"])
def test_every_format_gives_what_it_gives_in_memory(ending: str) -> None:
    store = assert_same(write(*tables(), ending), label="topic", text="about")
    assert store.num_nodes == 300 and store.num_features > 15


@pytest.mark.parametrize(
    "options",
    [
        {"weight": "w"},
        {"weight": "w", "directed": True},
        {"directed": True},
        {"text": "about", "text_as": "bag", "max_vocabulary": 4},
        {"text": "about", "max_vocabulary": 7, "scale": False},
        {"features": ["kind", "size"]},
        {"features": []},
        {"features": [], "directed": True},
        {"unlabeled": ["art"], "features": ["count"]},
    ],
)
def test_options_do_what_they_do_in_memory(options: dict[str, Any]) -> None:
    assert_same(write(*tables()), label="topic", **options)


def test_a_table_without_labels_gives_a_store_to_predict_for() -> None:
    nodes, edges = tables()
    store = assert_same(write(nodes.drop(columns="topic"), edges))
    assert store.classes == () and (store.y == -1).all()


def test_ids_are_compared_as_names() -> None:
    Path("nodes.csv").write_text("id,a,y\n 1 ,2,u\n2.0,3,v\n007,4,u\nü,5,v\n")
    Path("edges.csv").write_text("source,target\n1.0,2\n007,ü\n ü,1\n")
    assert_same((Path("nodes.csv"), Path("edges.csv")), label="y")


def test_a_store_that_is_there_is_replaced_by_a_complete_one_only() -> None:
    files = write(*tables())
    before = convert(files, label="topic").store.sha256
    with pytest.raises(TableError):
        convert(files, label="topic", features=["about"])
    assert GraphStore.open("streamed").sha256 == before
    assert convert(files, label="topic", scale=False).store.sha256 != before


def test_what_a_killed_conversion_left_is_removed() -> None:
    Path("streamed/.parts/store").mkdir(parents=True)
    Path("streamed/.parts/store/x.npy").write_bytes(b"half")
    with pytest.raises(GraphError, match="was not completed"):
        nw.read_graph("streamed")
    convert(write(*tables()), label="topic")
    assert not Path("streamed/.parts").exists()


def test_too_little_memory_is_said_before_it_is_used() -> None:
    with pytest.raises(InputError, match=r"--memory: is too little for anything .*0\.8GB or more"):
        Budget(600 * 10**6)
    with pytest.raises(InputError, match=r"is too little for 50,000,000 nodes .*7\.2GB or more"):
        Budget(2 * 10**9).beside(50_000_000)
    whole = Budget(8 * 10**9)
    assert 0 < whole.beside(50_000_000)._free < whole._free
