from __future__ import annotations

import pickle

from nodewise.errors import NodewiseError, RunError, TableError, UnknownNameError


def test_errors_travel_between_processes() -> None:
    for error in (
        RunError("runs/x", "is in use", value=3, position=2, way_out="wait"),
        UnknownNameError("model", "LGCNN", ["LGCN", "GCN"]),
    ):
        back = pickle.loads(pickle.dumps(error))
        assert type(back) is type(error)
        assert str(back) == str(error)
        assert vars(back) == vars(error)


def test_a_message_is_one_short_line_whatever_it_is_about() -> None:
    long = "x" * 100_000
    for error in (
        RunError(long, long, value=long, way_out=long),
        RunError("a", "b", value=[long] * 3, way_out="c"),
        UnknownNameError("column", long, [f"column {i}" for i in range(10_000)]),
        TableError(long, long, row="line 3", column=long, value=long, way_out=long),
        NodewiseError(long),
    ):
        assert len(str(error)) <= 1_300
    told = str(RunError("a\nb\x1b[31m\udcff", "c\r\n d", value="e\nf", way_out="g"))
    assert told == r"a b\x1b[31m\udcff: c d (found 'e\nf'); g"


def test_spaces_in_names_stay() -> None:
    assert str(RunError("two  spaces", "p", way_out="w")) == "two  spaces: p; w"
