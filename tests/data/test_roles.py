"""Which column is what, asked for, remembered or guessed."""

from __future__ import annotations

import pandas as pd
import pytest

from nodewise.data.options import Roles
from nodewise.data.roles import edge_roles, node_roles
from nodewise.data.sources.open_source import FrameSource
from nodewise.errors import TableError


def source(*columns: str) -> FrameSource:
    return FrameSource("t", pd.DataFrame(columns=list(columns)))


@pytest.mark.parametrize(
    ("columns", "asked", "found"),
    [
        (("v", "ID", "Label", "split"), Roles(), Roles("ID", "Label", "split")),
        (("paper", "topic"), Roles(), Roles("paper")),
        (("id", "label", "y"), Roles(id="y", label="id"), Roles("y", "id")),
        (("class", "node", "y"), Roles(), Roles("node", "class")),
    ],
)
def test_columns_of_nodes(columns: tuple[str, ...], asked: Roles, found: Roles) -> None:
    assert node_roles(source(*columns), asked) == found


@pytest.mark.parametrize(
    ("columns", "asked", "ends"),
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
def test_columns_of_edges(columns: tuple[str, ...], asked: Roles, ends: tuple[str, str]) -> None:
    found = edge_roles(source(*columns), asked)
    assert (found.source, found.target) == ends and found.weight == asked.weight


def test_a_later_table_has_the_columns_that_are_remembered_and_need_not_have_labels() -> None:
    stored = Roles(id="paper", label="topic")
    assert node_roles(source("id", "paper", "topic"), Roles(), stored) == stored
    assert node_roles(source("id", "paper", "label"), Roles(), stored) == Roles("paper")


def test_one_column_cannot_be_both_ends() -> None:
    with pytest.raises(TableError, match="needs two columns"):
        edge_roles(source("a"), Roles())
