from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nodewise.explorer import palette
from nodewise.explorer.explorer_data import ExplorerData
from nodewise.explorer.maps import map_figure
from nodewise.explorer.state import COLORINGS, MAPS, State
from nodewise.report import style
from tests.explorer.pages import SCRIPT, named_view, small


def nodes(figure: dict[str, Any]) -> list[int]:
    return [node for trace in figure["data"][:-1] for node in trace.get("customdata", [])]


@pytest.mark.parametrize("color", COLORINGS)
@pytest.mark.parametrize("key", MAPS)
def test_every_node_is_drawn_once_at_its_place(key: str, color: str) -> None:
    explored = small()
    figure = map_figure(explored, State(map=key, color=color))
    assert sorted(nodes(figure)) == list(range(60))
    json.dumps(figure, allow_nan=False)
    first = figure["data"][0]
    x = explored.places(State(map=key))[first["customdata"], 0]
    assert np.allclose(first["x"], x, atol=1e-5)


def test_a_filter_draws_only_its_nodes() -> None:
    explored = small()
    drawn = nodes(map_figure(explored, State(show="spoiled")))
    assert sorted(drawn) == sorted(explored.chosen("spoiled"))


def test_the_global_model_stands_on_the_map_of_local_weights_alone() -> None:
    explored = small()
    marks = {k: map_figure(explored, State(map=k))["data"][-2]["name"] for k in MAPS}
    assert marks["local"] == "the global model" != marks["hidden"]


def test_chosen_nodes_are_ringed_though_the_sample_leaves_them_out() -> None:
    explored = small(limit=5)
    out = next(i for i in range(60) if i not in explored.drawn("all"))
    figure = map_figure(explored, State(node=str(out)))
    assert figure["data"][-1]["customdata"] == [out] and out not in nodes(figure)


def test_nodes_without_label_are_drawn_as_such() -> None:
    view = named_view()
    view.subject = replace(view.subject, y=np.where(np.arange(60) < 9, -1, view.subject.y))
    view.predictions.subject = view.subject
    explored = ExplorerData(view)
    for color in ("label", "correct", "effect"):
        last = map_figure(explored, State(color=color))["data"][-4]
        assert last["name"] == "no label" and last["customdata"] == list(range(9))


def test_names_are_text() -> None:
    text = json.dumps(map_figure(ExplorerData(named_view()), State()))
    assert SCRIPT not in text and "&lt;script&gt;" in text


def test_the_palette_is_that_of_our_plots() -> None:
    assert palette.COLORS[:6] == style.COLORS[:6]
    assert len({palette.color_and_mark(i) for i in range(49)}) == 49


def test_text_is_cut_escaped_and_in_one_line() -> None:
    assert palette.plain("a\n<b>&", 10) == "a &lt;b&gt;&amp;"
    assert palette.plain("abcdef", 4) == "abc…"
