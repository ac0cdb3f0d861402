"""Where a graph comes from, by the flags of a command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nodewise.cli.graph_options import files_of, flag_of, graph_source, name_of
from nodewise.data.options import ReadOptions
from nodewise.errors import InputError


def tables(**given: Any) -> dict[str, Any]:
    """What the options of a command are where only some of them are given."""
    from nodewise.cli.graph_options import _OPTIONS

    names = {"nodes": None, "edges": None, **dict.fromkeys(_OPTIONS)}
    assert given.keys() <= names.keys()
    return {**names, **given}


def test_a_data_set_with_its_split() -> None:
    source = graph_source("cora", tables(), "random", 3)
    assert source == {"dataset": "cora", "split": "random", "split_seed": 3}
    assert graph_source("cora", tables(), None, 0)["split"] == "default"
    assert name_of(source) == "cora"


def test_tables_with_the_options_that_were_given() -> None:
    given = {"nodes": Path("n.csv"), "edges": Path("data/ties.csv.gz"), "label": "topic"}
    source = graph_source(None, tables(**given, features=["a, b", "c"]), None, 0)
    assert source["files"] == {"nodes": "n.csv", "edges": "data/ties.csv.gz"}
    options = ReadOptions.from_dict(source["options"])
    assert options.label == "topic" and list(options.features or ()) == ["a", "b", "c"]
    assert name_of(source) == "n"
    assert name_of({"files": {"edges": "data/ties.csv.gz"}}) == "ties"


@pytest.mark.parametrize(
    ("dataset", "given", "split", "field", "says"),
    [
        (None, {}, None, "graph", "is missing"),
        ("cora", {"edges": Path("e.csv")}, None, "graph", "given twice"),
        ("cora", {"label": "topic"}, None, "--label", "there are none"),
        (None, {"edges": Path("e.csv")}, "random", "--split", "--split-column"),
        (None, {"nodes": Path("n.csv")}, None, "--edges", "is missing beside --nodes"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(
    dataset: str | None, given: dict[str, Any], split: str | None, field: str, says: str
) -> None:
    with pytest.raises(InputError, match=says) as caught:
        graph_source(dataset, tables(**given), split, 0)
    assert caught.value.field == field


def test_files_that_bring_their_edges_need_no_others(tmp_path: Path) -> None:
    assert files_of(tmp_path / "g.npz", None) == {"nodes": str(tmp_path / "g.npz")}
    assert files_of(None, None) == {}


def test_errors_name_options_by_their_flags() -> None:
    assert flag_of("split") == "split-column" and flag_of("text_as") == "text-as"
