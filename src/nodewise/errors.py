"""One family of exceptions: each names the field, the value, its place, and the way out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

# Characters of a message: all of it, and its parts, of which files and callers decide the length.
_MOST, _MOST_OF_PART, _MOST_OF_VALUE = 1200, 400, 160
_BREAK = re.compile(r"\s*[\n\r\t\v\f]\s*")


def one_line(text: str, most: int = _MOST) -> str:
    """A text as one line that any terminal can print; what is too long is left out in the middle.

    Names of files and columns may contain line breaks, control sequences, and bytes that are not
    UTF-8, which Python has as surrogates.
    """
    line = _BREAK.sub(" ", text.strip())
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    kept = (most - 5) // 2
    return shown if len(shown) <= most else f"{shown[:kept]} ... {shown[-kept:]}"


class NodewiseError(Exception):
    """Anything nodewise raises on purpose; the command line prints it in one line and exits 2."""

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


class RunWarning(UserWarning):
    """A run's files cannot be checked, or have changed, and are used because the caller says so."""


class InputError(NodewiseError, ValueError):
    """An argument, a file or a setting cannot be used.

    Args:
        field: What is wrong, as the caller knows it: `edge_index`, `val_mask`, a column's name.
        problem: What is wrong with it, as a clause.
        way_out: What to do about it, as a clause.
        value: The first offending value.
        position: The place of that value in the field: an index or a tuple of indices.
    """

    def __init__(
        self,
        field: str,
        problem: str,
        *,
        way_out: str,
        value: object = None,
        position: int | tuple[int, ...] | None = None,
    ) -> None:
        what, why, how = (one_line(text, _MOST_OF_PART) for text in (field, problem, way_out))
        self.field, self.value, self.position, self.way_out = field, value, position, how
        indices = (position,) if isinstance(position, int) else position
        place = "" if indices is None else f"[{', '.join(map(str, indices))}]"
        found = "" if value is None else f" (found {one_line(_shown(value), _MOST_OF_VALUE)})"
        super().__init__(f"{what}{place}: {why}{found}; {how}")

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled as message and attributes, since the constructors of subclasses differ.
        return _revive, (type(self), str(self), vars(self))


def _shown(value: object) -> str:
    """The value as Python writes it; of a long text only what is needed, since it may be huge."""
    return repr(value[:_MOST_OF_VALUE] if isinstance(value, str | bytes) else value)


def _revive(kind: type[InputError], message: str, fields: dict[str, Any]) -> InputError:
    error = kind.__new__(kind, message)
    error.__dict__.update(fields)
    return error


class GraphError(InputError):
    """The graph itself is malformed: edges, features or labels."""


class SplitError(InputError):
    """A split cannot be drawn as asked, or its parts contradict each other."""


class RawFileError(InputError):
    """A data set's raw file is absent, truncated, altered, or tries to run code."""


class RecipeError(InputError):
    """A recipe, or a setting that overrides it, has an unknown key or an impossible value."""


class RunError(InputError):
    """A run's folder is in use, holds another run, or is damaged."""


class TableError(InputError):
    """A table cannot be read as a graph, or a later table differs from the first.

    Args:
        table: The file's path, or what the table is: `nodes`, `edges`.
        problem: What is wrong, as a clause.
        way_out: What to do about it, as a clause.
        row: The place of the row: `line 3` of a file whose header is line 1, `row 2` of a frame.
        column: The column's name.
        value: The offending cell; a long text is cut.
        position: The place of that value in an array: an index or a tuple of indices.
    """

    def __init__(
        self,
        table: str,
        problem: str,
        *,
        way_out: str,
        row: str | None = None,
        column: str | None = None,
        value: object = None,
        position: int | tuple[int, ...] | None = None,
    ) -> None:
        self.table, self.row, self.column = table, row, column
        places = (table, row, None if column is None else f"column {column!r}")
        cut = isinstance(value, str) and len(value) > 60
        super().__init__(
            ", ".join(place for place in places if place is not None),
            problem,
            way_out=way_out,
            value=f"{str(value)[:57]}..." if cut else value,
            position=position,
        )


class UnknownNameError(InputError):
    """A name that is not in a list, answered with the nearest one that is."""

    def __init__(self, field: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        lowered = {known.lower(): known for known in names}
        near = [lowered[match] for match in get_close_matches(name.lower(), lowered)]
        # First those with the same letters: two of them have changed places.
        near.sort(key=lambda match: sorted(match.lower()) != sorted(name.lower()))
        hint = f"did you mean {near[0]!r}? " if near else ""
        super().__init__(
            field, "is not known", value=name, way_out=f"{hint}known are {', '.join(names)}"
        )


class DivergedError(NodewiseError):
    """Training ran into numbers that are not finite."""
