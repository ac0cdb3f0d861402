"""What the page answers to clicks."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from nodewise.explorer.explorer_data import ExplorerData
from nodewise.explorer.state import State
from tests.explorer.bodies import body_of
from tests.explorer.pages import named_view, small
from tests.explorer.test_app import HERE, ask, client


def click(page: Any, id: Any, value: Any, shown: State) -> Any:
    """The address after a button of a table or a neighbor was clicked."""
    from nodewise.explorer import callbacks

    values = dict(zip(callbacks.CONTROLS, callbacks.shown(shown), strict=True))
    known = page.get("/_dash-dependencies").json
    body = body_of(known, "url.search", {"state": shown.query(), **values}, (id, value))
    answer = page.post("/_dash-update-component", json=body, headers=HERE)
    return answer.json["response"]["url"]["search"] if answer.status_code == 200 else answer.status


@pytest.mark.parametrize(
    ("id", "value"),
    [
        ("picked", [7, 120.5]),
        ({"type": "neighborhood", "place": "node"}, {"points": [{"customdata": "7"}]}),
    ],
)
def test_buttons_and_neighbors_choose_nodes_and_leave_the_rest(id: Any, value: Any) -> None:
    pytest.importorskip("dash", reason="dash is not installed")
    shown = State(map="hidden", show="spoiled", node="3", other="5", drop=("9",))
    assert click(client(small()), id, value, shown) == shown.at("7").query()


def test_a_what_if_is_answered() -> None:
    page, state = client(small()), State(node="3", off=("node", "edge"))
    found = ask(page, "answer.children", {"state": state.query()}).json["response"]
    expected = small().what_if(state)
    before, after = expected.probabilities_before, expected.probabilities_after
    chances = [f"{of[expected.after]:.3f}" for of in (after, before)]
    assert all(text in found["answer"]["children"] for text in (expected.after, *chances))
    assert found["what-if"]["hidden"] is False
    assert len(found["after"]["figure"]["data"]) == 2


def test_a_what_if_that_is_not_possible_says_why() -> None:
    state = State(node="3", drop=("3",)).query()
    found = ask(client(small()), "answer.children", {"state": state}).json["response"]
    assert "names no edge" in found["answer"]["children"]


def test_two_nodes_are_shown_side_by_side_as_text() -> None:
    explored = ExplorerData(named_view())
    state = State(node=explored.ids[3], other=explored.ids[4]).query()
    answer = ask(client(explored), "node.children", {"state": state})
    panels = answer.json["response"]["node"]["children"]
    assert len(panels) == 2
    assert explored.node(explored.ids[4]).sentence in json.dumps(panels[1])


def test_the_table_has_a_button_for_each_node_of_the_lasso() -> None:
    selected = {"points": [{"customdata": 5}, {"customdata": 9}, {"text": "the global model"}]}
    answer = ask(client(small()), "table.children", {"map": selected, "show": "all"})
    classes, nodes = (
        json.loads(each["props"]["data-table"])
        for each in answer.json["response"]["table"]["children"]
    )
    assert nodes["caption"] == "2 nodes in the lasso"
    assert [row[:2] for row in nodes["rows"]] in ([[5, "5"], [9, "9"]], [[9, "9"], [5, "5"]])
    assert classes["rows"] == [[None, *row] for row in small().by_class(np.array([5, 9]))]


def test_the_table_is_saved_as_csv() -> None:
    answer = ask(client(small()), "download.data", {"csv": 1, "show": "spoiled"})
    lines = answer.json["response"]["download"]["data"]["content"].splitlines()
    assert len(lines) == 1 + len(small().chosen("spoiled")) and lines[0].startswith("id,label")


def test_an_answer_leaves_controls_alone_that_do_not_change() -> None:
    dash = pytest.importorskip("dash", reason="dash is not installed")
    from nodewise.explorer.callbacks import updates

    assert updates(["a", "b"], ["a", "c"]) == [dash.no_update, "b"]
