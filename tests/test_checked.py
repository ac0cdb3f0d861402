"""Content is of its declared type, or the error says where it is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

import pytest

from nodewise.checked import Count, Mismatch, Share, checked


class Inner(TypedDict):
    name: str
    shares: list[Share]


class Outer(TypedDict):
    count: Count
    kind: Literal["a", "b"]
    inner: Inner
    more: NotRequired[dict[str, float]]
    maybe: NotRequired[str | None]


@dataclass(frozen=True)
class Plain:
    names: tuple[str, ...]
    pair: tuple[int, float] = (1, 2.0)


SOUND: dict[str, Any] = {"count": 1, "kind": "a", "inner": {"name": "x", "shares": [0, 0.5]}}


def test_sound_content_is_passed_on_with_undeclared_keys() -> None:
    content = {**SOUND, "more": {"a": 1}, "maybe": None, "later": [object]}
    assert checked(Outer, content) == content


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"count": "1"}, "count must be a whole number, found '1'"),
        ({"count": True}, "count must be a whole number, found True"),
        ({"count": 1.0}, "count must be a whole number"),
        ({"count": -1}, "count must be between 0 and"),
        ({"count": 10**400}, "count must be a whole number"),
        ({"kind": "c"}, "kind must be one of 'a', 'b'"),
        ({"kind": ["a"]}, "kind must be one of"),
        ({"inner": None}, "inner must be a table"),
        ({"inner": {"name": "x"}}, r"inner\.shares must be there"),
        ({"inner": {"name": "x", "shares": [0, 2]}}, r"inner\.shares\[1\] must be between"),
        ({"inner": {"name": "x", "shares": 0}}, r"inner\.shares must be a list"),
        ({"more": {"a": float("nan")}}, r"more\.a must be a number, found nan"),
        ({"more": {"a": float("inf")}}, r"more\.a must be a number"),
        ({"more": {"a": 10**400}}, r"more\.a must be a number"),
        ({"maybe": 1}, "maybe must be null, found 1"),
    ],
)
def test_the_first_place_that_is_wrong_is_named(change: dict[str, Any], said: str) -> None:
    with pytest.raises(Mismatch, match=said):
        checked(Outer, {**SOUND, **change})


@pytest.mark.parametrize("content", [None, [], "text", 1])
def test_what_is_no_table_at_all(content: object) -> None:
    with pytest.raises(Mismatch, match="its content must be a table"):
        checked(Outer, content)


def test_a_dataclass_has_tuples_and_no_other_keys() -> None:
    assert checked(Plain, {"names": ["a"], "pair": [3, 4]}) == Plain(("a",), (3, 4))
    assert checked(Plain, {"names": []}) == Plain(())
    for content in ({}, {"names": "a"}, {"names": [], "pair": [1]}, {"names": [], "other": 1}):
        with pytest.raises(Mismatch):
            checked(Plain, content)


def test_an_error_is_short_whatever_was_found() -> None:
    with pytest.raises(Mismatch) as caught:
        checked(Outer, {**SOUND, "kind": "x" * 10_000})
    assert len(str(caught.value)) < 200
