"""Which columns become features by themselves, and which when asked."""

from __future__ import annotations

from datetime import date
from typing import Any

import pandas as pd
import pytest

import nodewise as nw

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


def test_many_names_are_taken_when_asked_for() -> None:
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
    asked = nw.from_pandas(nodes, EDGES[:5], features=["c"])
    assert asked.data.num_features == 6
