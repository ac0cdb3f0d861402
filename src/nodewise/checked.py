"""Content of files, checked once against a declared type; whatever comes after trusts the type.

A format is declared as a `TypedDict` or as a dataclass of plain data. Keys that a TypedDict does
not name are passed on: later releases may have written them. A number must be finite, and a whole
number must fit 64 bits, since that is all that JSON and TOML need here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

T = TypeVar("T")

# Bounds of a number, both included.
Count = Annotated[int, (0, 2**53)]
Positive = Annotated[float, (1e-300, 1e300)]
Share = Annotated[float, (-1e-9, 1 + 1e-9)]  # a sum of fractions may be off by rounding
NotNegative = Annotated[float, (0.0, 1e300)]

_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_NAMES |= {NoneType: "null", list: "a list", dict: "a table"}


class Mismatch(ValueError):
    """Content is not of the declared type.

    Args:
        place: Where, as `graph.nodes[3]`; empty for all of it.
        wanted: What should be there.
        found: The values that were found.
    """

    def __init__(self, place: str, wanted: str, found: object) -> None:
        super().__init__(f"{place or 'its content'} must be {wanted}, found {found!r:.60}")


def checked(kind: type[T], content: object, place: str = "") -> T:
    """The content as the declared type; lists become tuples where a tuple is declared.

    Args:
        kind: A TypedDict, a dataclass, or any annotation of plain data.
        content: What `json` or `tomllib` returned.
        place: What errors call it.

    Raises:
        Mismatch: It is not of that type; the error names the first place that is not.
    """
    return cast(T, _check(kind, content, place))


def expect(condition: bool, place: str, wanted: str, found: object) -> None:
    """Check what no type can say, such as equal lengths.

    Raises:
        Mismatch: The condition is false.
    """
    if not condition:
        raise Mismatch(place, wanted, found)


def _check(hint: Any, value: Any, place: str) -> Any:
    if hint is Any:
        return value
    if is_typeddict(hint) or is_dataclass(hint):
        return _table(hint, value, place)
    origin = get_origin(hint) or hint
    return _CHECKS.get(origin, _plain)(hint, value, place)


def _plain(hint: Any, value: Any, place: str) -> Any:
    """A text, a number, a truth value or null; whole numbers are numbers, too."""
    kind = NoneType if hint is None else hint
    right = type(value) is kind or (kind is float and type(value) is int)
    if right and type(value) is int:
        right = -(2**63) <= value < 2**63
    elif right and kind is float:
        right = isfinite(value)
    if not right:
        raise Mismatch(place, _NAMES.get(kind, str(kind)), value)
    return value


def _literal(hint: Any, value: Any, place: str) -> Any:
    known = get_args(hint)
    if not any(type(value) is type(one) and value == one for one in known):
        raise Mismatch(place, f"one of {', '.join(map(repr, known))}", value)
    return value


def _bounded(hint: Any, value: Any, place: str) -> Any:
    kind, (low, high) = get_args(hint)
    number = _check(kind, value, place)
    if not low <= number <= high:
        raise Mismatch(place, f"between {low:g} and {high:g}", value)
    return number


def _union(hint: Any, value: Any, place: str) -> Any:
    for kind in get_args(hint):
        try:
            return _check(kind, value, place)
        except Mismatch as error:
            last = error
    raise last


def _list(hint: Any, value: Any, place: str) -> Any:
    (kind,) = get_args(hint)
    if type(value) is not list:
        raise Mismatch(place, "a list", value)
    return [_check(kind, one, f"{place}[{i}]") for i, one in enumerate(value)]


def _tuple(hint: Any, value: Any, place: str) -> Any:
    """As many as declared, or any number of one kind; JSON and TOML have lists only."""
    kinds = get_args(hint)
    if type(value) not in (list, tuple):
        raise Mismatch(place, "a list", value)
    if len(kinds) == 2 and kinds[1] is ...:
        kinds = kinds[:1] * len(value)
    if len(kinds) != len(value):
        raise Mismatch(place, f"a list of {len(kinds)}", value)
    pairs = enumerate(zip(kinds, value, strict=True))
    return tuple(_check(kind, one, f"{place}[{i}]") for i, (kind, one) in pairs)


def _dict(hint: Any, value: Any, place: str) -> Any:
    _, kind = get_args(hint) or (str, Any)
    _check_table(value, place)
    return {key: _check(kind, one, _inner(place, key)) for key, one in value.items()}


def _table(hint: Any, value: Any, place: str) -> Any:
    """A TypedDict, or a dataclass, which has the declared keys only."""
    _check_table(value, place)
    kinds, required = _declared(hint)
    for key in sorted(required - value.keys()):
        raise Mismatch(_inner(place, key), "there", None)
    known = {
        key: _check(kinds[key], one, _inner(place, key)) if key in kinds else one
        for key, one in value.items()
    }
    if not is_dataclass(hint):
        return known
    for key in value.keys() - kinds.keys():
        raise Mismatch(_inner(place, key), "left out: there is no such key", value[key])
    return cast(Callable[..., Any], hint)(**known)


@cache
def _declared(hint: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """The kinds of a table's keys, and the keys that must be there."""
    hints = get_type_hints(hint, include_extras=True)
    if is_dataclass(hint):
        needed = (f.name for f in fields(hint) if f.default is f.default_factory is MISSING)
        return {field.name: hints[field.name] for field in fields(hint)}, frozenset(needed)
    # Not __required_keys__, which is wrong where annotations are evaluated late.
    optional = {key for key, kind in hints.items() if get_origin(kind) is NotRequired}
    plain = {k: get_args(kind)[0] if k in optional else kind for k, kind in hints.items()}
    return plain, frozenset(hints.keys() - optional)


def _check_table(value: Any, place: str) -> None:
    if not isinstance(value, Mapping):
        raise Mismatch(place, "a table", value)


def _inner(place: str, key: str) -> str:
    return f"{place}.{key}" if place else str(key)


_CHECKS: dict[Any, Callable[[Any, Any, str], Any]] = {
    Annotated: _bounded,
    Literal: _literal,
    Union: _union,
    UnionType: _union,
    dict: _dict,
    list: _list,
    tuple: _tuple,
}
