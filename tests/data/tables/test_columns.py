"""Which columns are what, and which become features by default or when they are named."""

from __future__ import annotations

from datetime import date
from typing import Any

import pandas as pd
import pytest

import nodewise as nw
from nodewise.data.options import Roles
from nodewise.data.sources.open_source import FrameSource
from nodewise.data.tables.columns import edge_roles, node_roles
from nodewise.errors import TableError

COUNT = 60
EDGES = [(i, i + 1) for i in range(COUNT - 1)]


def graph_of(column: Any, **options: Any) -> nw.GraphTable:
    nodes = pd.DataFrame({"id": range(COUNT), "n": range(COUNT), "c": column})
    return nw.from_pandas(nodes, EDGES, **options)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (range(COUNT), "numeric"),
        ([True, False] * 30, "numeric"),
        ([True, None] * 30, "numeric"),
        ([str(i / 4) for i in range(COUNT)], "numeric"),
        (["u", "v"] * 30, "categorical"),
        (["u", "1"] * 30, "categorical"),
        (pd.Categorical(["u", "v"] * 30), "categorical"),
        ([f"text {i // 2}" for i in range(COUNT)], "categorical"),
        ([f"text {max(i, 29)}" for i in range(COUNT)], "left out: has 31 distinct texts"),
        (["", *(f"text {i // 2}" for i in range(1, COUNT))], "categorical"),
        ([f"text {i}" for i in range(COUNT)], "left out: has 60 distinct texts"),
        ([date(2020, 1, 1)] * COUNT, "left out: is neither"),
        (pd.date_range("2020-01-01", periods=COUNT), "left out: is neither"),
        ([[1, 2]] * COUNT, "left out: is neither"),
        ([None] * COUNT, "left out: is empty"),
        ([""] * COUNT, "left out: is empty"),
        ([1j] * COUNT, "left out: is neither"),
    ],
)
def test_the_kind_of_a_column(column: Any, kind: str) -> None:
    graph = graph_of(column, missing="mean")
    found = [encoder.kind for encoder in graph.preprocessing.encoders if encoder.column == "c"]
    reason = graph.summary.left_out.get("c", "")
    assert found == [kind] or (not found and f"left out: {reason}".startswith(kind))


def test_many_names_are_taken_when_named() -> None:
    graph = graph_of([f"text {i}" for i in range(COUNT)], features=["c"])
    assert graph.data.num_features == COUNT and graph.summary.features == {
        "categorical": (["c"], 60)
    }


def test_a_text_is_not_a_category_too() -> None:
    graph = graph_of(["red fox", "blue hen"] * 30, features=["c", "n"], text=["c"])
    assert graph.data.feature_names == ["n", "c:blue", "c:fox", "c:hen", "c:red"]


def test_a_second_id_of_a_small_table_is_no_category() -> None:
    nodes = pd.DataFrame({"id": range(6), "n": range(6), "c": [f"u{i}" for i in range(6)]})
    graph = nw.from_pandas(nodes, EDGES[:5])
    assert graph.data.feature_names == ["n"]
    assert "left out  column 'c' has 6 distinct texts" in str(graph.summary)
    named = nw.from_pandas(nodes, EDGES[:5], features=["c"])
    assert named.data.num_features == 6


def source(*columns: str) -> FrameSource:
    return FrameSource("t", pd.DataFrame(columns=list(columns)))


@pytest.mark.parametrize(
    ("columns", "named", "found"),
    [
        (("v", "ID", "Label", "split"), Roles(), Roles("ID", "Label", "split")),
        (("paper", "topic"), Roles(), Roles("paper")),
        (("id", "label", "y"), Roles(id="y", label="id"), Roles("y", "id")),
        (("class", "node", "y"), Roles(), Roles("node", "class")),
    ],
)
def test_columns_of_nodes(columns: tuple[str, ...], named: Roles, found: Roles) -> None:
    assert node_roles(source(*columns), named) == found


@pytest.mark.parametrize(
    ("columns", "named", "ends"),
    [
        (("w", "target", "source"), Roles(), ("source", "target")),
        (("from", "to"), Roles(), ("from", "to")),
        (("a", "b", "c"), Roles(), ("a", "b")),
        (("a", "b", "c"), Roles(source="b"), ("b", "a")),
        (("a", "b", "c"), Roles(target="a"), ("b", "a")),
        (("a", "b", "c"), Roles(weight="a"), ("b", "c")),
        (("u", "source"), Roles(target="source"), ("u", "source")),
    ],
)
def test_columns_of_edges(columns: tuple[str, ...], named: Roles, ends: tuple[str, str]) -> None:
    found = edge_roles(source(*columns), named)
    assert (found.source, found.target) == ends and found.weight == named.weight


def test_a_later_table_has_the_columns_that_are_remembered_and_need_not_have_labels() -> None:
    stored = Roles(id="paper", label="topic")
    assert node_roles(source("id", "paper", "topic"), Roles(), stored) == stored
    assert node_roles(source("id", "paper", "label"), Roles(), stored) == Roles("paper")


def test_one_column_cannot_be_both_ends() -> None:
    with pytest.raises(TableError, match="needs two columns"):
        edge_roles(source("a"), Roles())
