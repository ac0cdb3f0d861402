from __future__ import annotations

import pytest

from nodewise.explorer.state import State

STATES = [
    State(),
    State(map="hidden", color="degree", show="spoiled", node="p 1&2", other="ü#?"),
    State(node="7", off=("node", "edge"), drop=("a,b", "<i>"), zero=("x=y",)),
]


@pytest.mark.parametrize("state", STATES)
def test_an_address_gives_the_state_it_was_made_from(state: State) -> None:
    assert State.parse(state.query()) == state


def test_the_first_state_has_no_query() -> None:
    assert State().query() == ""


def test_what_is_not_known_in_an_address_is_left_out() -> None:
    assert State.parse("?map=moon&color=<b>&show=&evil=1&node=a") == State(node="a")
    assert State.parse(None) == State.parse("") == State()


def test_another_node_is_shown_without_the_what_if_of_the_last_one() -> None:
    assert State(node="1", color="degree", drop=("2",)).at("3") == State(node="3", color="degree")
