from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from nodewise.errors import InputError
from nodewise.explorer import app as module
from nodewise.explorer.explored import Explored
from nodewise.explorer.state import State
from tests.explorer.bodies import body_of
from tests.explorer.pages import SCRIPT, named_view, small

pytestmark = pytest.mark.medium
HERE = {"Origin": "http://localhost"}


def client(explored: Explored, name: str = "run") -> Any:
    pytest.importorskip("dash", reason="dash is not installed")
    return module.make_app(explored, name).server.test_client()


def click(page: Any, id: Any, value: Any, shown: State) -> Any:
    """The address after a button of a table or a neighbor was clicked."""
    from nodewise.explorer import callbacks

    values = dict(zip(callbacks.CONTROLS, callbacks.shown(shown), strict=True))
    known = page.get("/_dash-dependencies").json
    body = body_of(known, "url.search", {"state": shown.query(), **values}, (id, value))
    answer = page.post("/_dash-update-component", json=body, headers=HERE)
    return answer.json["response"]["url"]["search"] if answer.status_code == 200 else answer.status


def ask(
    page: Any, output: str, inputs: Mapping[str, Any], headers: Mapping[str, str] = HERE
) -> Any:
    """The answer of the callback that has an output, for the values of its inputs by id."""
    body = body_of(page.get("/_dash-dependencies").json, output, inputs)
    return page.post("/_dash-update-component", json=body, headers=headers)


def test_the_page_comes_from_this_server_alone() -> None:
    page = client(small())
    answer = page.get("/?node=3")
    text = answer.get_data(as_text=True)
    assert answer.status_code == 200 and '<html lang="en">' in text
    assert not re.search(r"(src|href)=.?https?:", text)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    inline = re.findall(r"<script[^>]*>[^<]+</script>", text)
    assert all("application/json" in each or "DashRenderer" in each for each in inline)


def test_names_are_text_in_the_page() -> None:
    page = client(Explored(named_view()), SCRIPT)
    assert SCRIPT not in page.get("/").get_data(as_text=True)


def test_other_hosts_and_pages_are_refused() -> None:
    page, asked = client(small()), {"state": State(node="3").query()}
    assert page.get("/", headers={"Host": "evil.com"}).status_code == 403
    assert ask(page, "answer.children", asked).status_code == 200
    for origin in ({}, {"Origin": "http://evil.com"}, {"Origin": "null"}):
        assert ask(page, "answer.children", asked, origin).status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../app.py",
        "/assets/%2e%2e/app.py",
        "/assets/..%2fapp.py",
        "/assets//etc/passwd",
        "/_dash-component-suites/dash/../../../nodewise/cli/app.py",
        "/_dash-component-suites/nodewise/explorer/app.py",
        "/_mcp",
        "/_reload-hash",
    ],
)
def test_no_path_leads_to_other_files(path: str) -> None:
    text = client(small()).get(path).get_data(as_text=True)
    assert "import annotations" not in text and "root:" not in text


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
    explored = Explored(named_view())
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


def test_without_dash_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install dash"):
        module.need_dash()


def test_an_answer_leaves_controls_alone_that_do_not_change() -> None:
    dash = pytest.importorskip("dash", reason="dash is not installed")
    from nodewise.explorer.callbacks import updates

    assert updates(["a", "b"], ["a", "c"]) == [dash.no_update, "b"]
