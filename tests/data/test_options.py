"""The same options in Python, in `config.toml` and on the command line."""

from __future__ import annotations

import inspect
import tomllib
from dataclasses import fields, replace
from typing import Any

import pandas as pd
import pytest
import tomli_w

import nodewise as nw
from nodewise.data.options import current_options
from nodewise.errors import InputError, SplitError, UnknownNameError

OTHERS: dict[str, Any] = {
    "label": "topic",
    "unlabeled": ("?", "none"),
    "id": "paper",
    "source": "a",
    "target": "b",
    "weight": "w",
    "directed": True,
    "features": (),
    "text": ("title", "a,b"),
    "text_as": "bag",
    "max_vocabulary": 7,
    "missing": "zero",
    "scale": False,
    "split": "part",
    "split_ratio": "8/1/1",
    "sparse": True,
}


def test_every_option_survives_toml() -> None:
    assert OTHERS.keys() == {field.name for field in fields(nw.ReadOptions)}
    for name, value in OTHERS.items():
        options = nw.ReadOptions(**{name: value})
        plain = tomllib.loads(tomli_w.dumps(options.to_dict()))
        assert list(plain) == [name] and nw.ReadOptions.from_dict(plain) == options
    assert nw.ReadOptions().to_dict() == {}


def test_a_single_name_is_a_list_of_one() -> None:
    options = nw.ReadOptions(features="size", text="title", unlabeled="?")
    assert (options.features, options.text, options.unlabeled) == (("size",), ("title",), ("?",))


def test_the_key_of_earlier_releases_is_read() -> None:
    assert nw.ReadOptions.from_dict({"unlabelled": ["?"]}).unlabeled == ("?",)
    assert current_options({"unlabelled": ["?"], "label": "y"}) == {
        "unlabeled": ["?"],
        "label": "y",
    }


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"lable": "topic"}, "did you mean 'label'"),
        ({"missing": "meen"}, "did you mean 'mean'"),
        ({"text_as": "bags"}, "did you mean 'bag'"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(UnknownNameError, match=says):
        nw.read_graph(pd.DataFrame({"id": [0, 1]}), [(0, 1)], **wrong)


def test_options_that_contradict_each_other() -> None:
    with pytest.raises(InputError, match="max_vocabulary: is a count of words"):
        nw.ReadOptions(max_vocabulary=0)
    for ratio in ("60/40", "60-20-20", "80/20/0", "1/1/nan", "inf/1/1"):
        with pytest.raises(SplitError, match=r"three positive numbers.*such as 60/20/20"):
            nw.ReadOptions(split_ratio=ratio)
    nodes = pd.DataFrame({"id": [0, 1, 2], "size": [1.0, 2.0, 4.0]})
    fitted = nw.read_graph(nodes, [(0, 1)]).preprocessing
    with pytest.raises(InputError, match="are fixed by the preprocessing"):
        nw.read_graph(nodes, [(0, 1)], features=["size"], preprocessing=fitted)


def test_keyword_arguments_are_fields_and_override_the_options() -> None:
    nodes = pd.DataFrame({"id": [0, 1, 2], "size": [1.0, 2.0, 4.0], "age": [3.0, 5.0, 4.0]})
    options = nw.ReadOptions(features="size", directed=True)
    graph = nw.read_graph(nodes, [(0, 1)], options=options, features="age")
    assert graph.data.feature_names == ["age"] and graph.summary.directed
    same = nw.read_graph(nodes, [(0, 1)], options=replace(options, features="age"))
    assert same.data.x.equal(graph.data.x)
    for read in (nw.read_graph, nw.from_pandas, nw.from_networkx):
        assert OTHERS.keys() < inspect.signature(read).parameters.keys()
